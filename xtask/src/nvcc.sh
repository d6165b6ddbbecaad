#!/bin/sh
# nvcc as a simulated device needs it: every kernel with its source lines, and objects that hold PTX instead of machine
# code, which zstd makes a tenth of. cudaforge asks for machine code alone (`code=sm_XX`) where it compiles to objects.
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
