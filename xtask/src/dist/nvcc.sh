#!/bin/sh
# Wraps nvcc for workers that run on a GPU: objects get machine code for each architecture of SNUFFER_GPU_CODE, such as `90a 80`,
# and PTX. Everything else goes to the wrapper for the simulated device.
object=
for argument; do
  [ "$argument" = -c ] && object=1
done
[ "$object" ] || exec "$CUDA_HOME/bin/nvcc" "$@"
for argument; do
  shift
  case $argument in
    -gencode=*,code=sm_*) argument=${argument%sm_*}compute_${argument##*sm_} ;;
  esac
  set -- "$@" "$argument"
done
for code in $SNUFFER_GPU_CODE; do
  set -- "$@" "-gencode=arch=compute_$code,code=sm_$code"
done
# The archive is compressed as a whole.
exec "$CUDA_HOME/../packages/nvidia/cu13/bin/nvcc" --compress-mode=none "$@"
