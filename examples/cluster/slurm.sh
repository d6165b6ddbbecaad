#!/bin/bash
# One shard of a hunt for each task of a Slurm job array:
#
#   SEED=20261129 CASES=1000000 sbatch --array=1-64 examples/cluster/slurm.sh
#
# A task that is killed, preempted or requeued continues the campaign of its store, so each case runs once. Afterwards:
#
#   snuffer merge --into all findings/*
#
#SBATCH --job-name=snuffer
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=snuffer-%a.log

store=${STORE:-findings}/$SLURM_ARRAY_TASK_ID
if compgen -G "$store/campaigns/*.toml" > /dev/null; then
    campaign=(--resume)
else
    campaign=(--seed "$SEED" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT")
fi

# A step of its own gets Slurm's signals, and the hunt ends in order.
srun snuffer hunt --store "$store" --device "${DEVICE:-cpu}" --jobs "${SLURM_CPUS_PER_TASK:-1}" --cases "$CASES" "${campaign[@]}"
code=$?
# A hunt that has findings has not failed.
[ "$code" -eq 2 ] || exit "$code"
