# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += docs tests/README.md bench/README.md
dist_man_MANS = docs/dshost.1
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = docs/completion/dshost
zshcompdir = $(datadir)/zsh/site-functions
dist_zshcomp_DATA = docs/completion/_dshost
fishcompdir = $(datadir)/fish/vendor_completions.d
dist_fishcomp_DATA = docs/completion/dshost.fish

# Installs documents and examples in the arrangement of the source tree, so that their links hold; include/ is a link to the
# installed headers.
install_docs = cd $(srcdir) && find README.md CITATION.cff LICENSE STYLE.md VERSIONING.md docs examples -type f \
	\( -name '*.md' -o -name LICENSE -o -name CITATION.cff -o -name '*.png' -o -name '*.svg' -o -name '*.csv' -o -name '*.html' \
	-o -name '*.c' -o -name '*.cpp' -o -name '*.py' -o -name '*.rs' -o -name '*.map' -o -name '*.ini' -o -name '*.urdf' -o -name '*.xml' -o -name '*.sh' -o -name Makefile \)
install-data-local:
	@echo " installing the documentation and the examples in '$(DESTDIR)$(docdir)'"; \
	files=`$(install_docs)` || exit 1; \
	for f in $$files; do \
	  case $$f in */*) d=$${f%/*};; *) d=.;; esac; \
	  test -d "$(DESTDIR)$(docdir)/$$d" || $(MKDIR_P) "$(DESTDIR)$(docdir)/$$d" || exit 1; \
	  $(INSTALL_DATA) "$(srcdir)/$$f" "$(DESTDIR)$(docdir)/$$f" || exit 1; \
	done; \
	case '$(docdir):$(includedir)' in \
	'$(prefix)/'*':$(prefix)/'*) \
	  up=`echo '$(docdir)' | $(SED) 's|^$(prefix)/||; s|[^/][^/]*|..|g'`; \
	  rm -f "$(DESTDIR)$(docdir)/include"; \
	  $(LN_S) "$$up"/`echo '$(includedir)' | $(SED) 's|^$(prefix)/||'` "$(DESTDIR)$(docdir)/include";; \
	esac
uninstall-local:
	@files=`$(install_docs)` && cd "$(DESTDIR)$(docdir)" 2> /dev/null || exit 0; \
	rm -f $$files include; \
	find . -depth -type d -exec rmdir {} + 2> /dev/null; \
	cd / && rmdir "$(DESTDIR)$(docdir)" 2> /dev/null || :

# The documents as a site with search, in site/html; needs mkdocs.
site:
	$(SHELL) $(srcdir)/docs/site.sh site
.PHONY: site
