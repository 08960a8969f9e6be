// MPFI's types as far as intervals are passed around by their bytes: what computes with them is in the library.
// machines/analysis/interval_words.cpp holds the sizes against the real header.
#pragma once
typedef long mpfr_prec_t;
typedef struct {
  mpfr_prec_t precision;
  int sign;
  long exponent;
  unsigned long* limbs;
} __mpfr_struct;
typedef const __mpfr_struct* mpfr_srcptr;
typedef struct {
  __mpfr_struct left, right;
} __mpfi_struct;
typedef __mpfi_struct mpfi_t[1];
typedef __mpfi_struct* mpfi_ptr;
void mpfi_init2(mpfi_ptr, mpfr_prec_t);
