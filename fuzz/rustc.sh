#!/bin/sh
# A RUSTC_WRAPPER that instruments only candle's crates. Coverage of the suite itself, such as its parser of cases, is no
# reason to keep an input, and costs time. Comparisons are not traced, because no mutator here uses them. For the same
# reasons, AddressSanitizer leaves out the suite and the crates that parse its text.
crate= previous=
for argument; do
  [ "$previous" = --crate-name ] && crate=$argument
  previous=$argument
done
for argument; do
  shift
  case $crate,$argument in
    *,-Cllvm-args=-sanitizer-coverage-trace-compares) ;;
    candle_*,*) set -- "$@" "$argument" ;;
    *,-Cpasses=sancov-module | *,-Cllvm-args=-sanitizer-coverage-*) ;;
    snuffer,-Zsanitizer=address | serde*,-Zsanitizer=address | toml*,-Zsanitizer=address | winnow,-Zsanitizer=address) ;;
    ndarray,-Zsanitizer=address) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "$@"
