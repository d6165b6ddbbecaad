#!/bin/sh
# Answers for the stand-in GPU box what the tool of NVIDIA's driver answers on a machine with a GPU.
case "$*" in
-L) echo 'GPU 0: stand-in (UUID: GPU-00000000-0000-0000-0000-000000000000)' ;;
--query-gpu=compute_cap*) echo 9.0 ;;
*)
  echo "this stand-in for nvidia-smi does not answer: $*" >&2
  exit 2
  ;;
esac
