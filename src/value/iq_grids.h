/* iq_grids.h - the tables behind iq.c; iq_grids.c says what a row is. */
#ifndef VALUE_IQ_GRIDS_H
#define VALUE_IQ_GRIDS_H

#include <stdint.h>

extern const uint16_t grid_iq1_s[2048], grid_iq2_xxs[256], grid_iq2_xs[512], grid_iq2_s[1024],
	grid_iq3_xxs[256], grid_iq3_s[512];

#endif
