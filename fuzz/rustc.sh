#!/bin/sh
# A RUSTC_WRAPPER that instruments candle's crates only: what the suite itself executes, such as its reader of cases, is no
# reason to keep an input, and costs time. Comparisons are not traced: no mutator here asks for them. AddressSanitizer, where
# it is asked for, leaves out the suite and what reads its text for the same reason.
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
