#!/bin/sh
# Wraps nvcc for the simulated device: adds source lines to every kernel, and puts PTX instead of machine code into objects,
# compressed to a tenth by zstd. For objects, cudaforge asks for machine code only (`code=sm_XX`).
real=${0%/*}/../../packages/nvidia/cu13/bin/nvcc
compiles=
object=
for argument; do
  case $argument in
    -c) compiles=1 object=1 ;;
    --ptx) compiles=1 ;;
  esac
done
[ "$compiles" ] || exec "$real" "$@"
if [ "$object" ]; then
  for argument; do
    shift
    case $argument in
      -gencode=*,code=sm_*) argument=${argument%sm_*}compute_${argument##*sm_} ;;
    esac
    set -- "$@" "$argument"
  done
  set -- --compress-mode=balance "$@"
fi
exec "$real" -lineinfo "$@"
