/* SPDX-License-Identifier: Apache-2.0 */
/* sources.h - the papers of the environments of smoothing/. */
#ifndef DS_ENGINES_SMOOTHING_SOURCES_H
#define DS_ENGINES_SMOOTHING_SOURCES_H

#define SMOOTHING_SUH                                                                                        \
    "H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake: Do differentiable simulators give better policy "    \
    "gradients? ICML 2022, arXiv:2202.00817."
#define SMOOTHING_PANG                                                                                       \
    "T. Pang, H. J. T. Suh, L. Yang, R. Tedrake: Global planning for contact-rich manipulation via local "   \
    "smoothing of quasi-dynamic contact models. IEEE Transactions on Robotics 2023, arXiv:2206.10787."
#define SMOOTHING_HUANG                                                                                      \
    "Z. Huang, Y. Hu, T. Du, S. Zhou, H. Su, J. B. Tenenbaum, C. Gan: PlasticineLab: A soft-body "           \
    "manipulation benchmark with differentiable physics. ICLR 2021, arXiv:2104.03311."
#define SMOOTHING_ELANDT                                                                                     \
    "R. Elandt, E. Drumwright, M. Sherman, A. Ruina: A pressure field model for fast, robust approximation " \
    "of net contact force and moment between nominally rigid objects. IROS 2019, arXiv:1904.11433."

#endif
