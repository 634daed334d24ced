#Builds, checks and tries @NAME @.What wrote this folder is used for it; `make DSHOST =                      \
                                                                             dshost` takes another one.
DSHOST = @DSHOST @DIFFSIM_CFLAGS : = @CFLAGS @CC = cc CFLAGS = -O2 - Wall -
                                                               Wextra

                                                               @NAME @.so
    : @NAME @.c Makefile
      $(CC) $(CFLAGS) $(DIFFSIM_CFLAGS) - fPIC - shared - fvisibility = hidden - o $ @ @NAME @.c -
                                                                        lm

                                                                                check
    : @NAME @.so
      $(DSHOST) check./ @NAME @.so

                                                                                run
    : @NAME @.so
      $(DSHOST) run-- config @NAME
      @.ini

          test : @NAME @.so DSHOST = $(DSHOST) sh test.sh

                                         clean
    : rm - rf @NAME @.so results

                                         .PHONY : check run test clean
