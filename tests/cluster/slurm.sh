#!/bin/bash
# Runs examples/cluster/slurm.sh on a Slurm cluster of this machine alone, kills one task and preempts another, and compares the
# merged stores with those of a hunt that nothing disturbed: every case once, and the same findings.
#
#   sudo apt-get install --no-install-recommends slurm-wlm
#   cargo xtask build --cpu && sudo tests/cluster/slurm.sh target/debug
set -euo pipefail

export PATH=$(realpath "$1"):$PATH
example=$(realpath "$(dirname "$0")/../../examples/cluster/slurm.sh")
work=$(mktemp -d)
export SLURM_CONF=$work/slurm.conf
# Not those of a shell that runs in a job itself.
unset "${!SLURM_ARRAY@}" SLURM_CPUS_PER_TASK
clean_up() {
    scancel --user root --signal KILL || true
    sleep 1
    pkill -F "$work/slurmd.pid" || true
    pkill -F "$work/slurmctld.pid" || true
    sleep 2
    rm -rf "$work"
}
trap clean_up EXIT

mkdir -p /run/munge && chown munge: /run/munge
pgrep -x munged > /dev/null || runuser -u munge -- munged
cat > "$SLURM_CONF" << END
ClusterName=one
SlurmctldHost=$(hostname)
SlurmUser=root
AuthType=auth/munge
# A task that is requeued waits as long as its credential holds.
AuthInfo=cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
ReturnToService=2
MpiDefault=none
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
NodeName=$(hostname) CPUs=$(nproc) State=UNKNOWN
PartitionName=night Nodes=ALL Default=YES PriorityTier=1
PartitionName=day Nodes=ALL PriorityTier=2
END
mkdir "$work/state" "$work/spool"
slurmctld
slurmd

# Until the command succeeds, but not for ever.
wait_for() {
    for _ in $(seq 600); do
        if "$@"; then return; fi
        sleep 0.2
    done
    echo "gave up waiting for: $*" >&2
    squeue --format="%i %T %r %S" >&2
    tail -n 8 "$work"/*.log "$work"/run/*.log >&2
    exit 1
}
idle() { sinfo --noheader --format=%T | grep -qx idle; }
# A few cases of the shard have run.
has_begun() { grep -qsE '^cases = [0-9]{2}' "$work/run/findings/$1"/campaigns/*.toml; }
ended() { [ -z "$(squeue --noheader)" ]; }
has_restarted() { scontrol show job "$1" | grep -qE 'Restarts=[1-9]'; }

shards=4 cases=8000
export SEED=5 CASES=$cases
mkdir "$work/run" && cd "$work/run"
wait_for idle
array=$(sbatch --parsable --array=1-$shards "$example")
wait_for has_begun 1
# Killed: the machine takes it away without a word, and somebody requeues it.
pkill --signal KILL --full 'snuffer hunt --store findings/1 '
wait_for has_begun 2
scontrol requeue "${array}_1"
# Preempted: a job of the other partition needs all CPUs.
sbatch --partition=day --ntasks="$(nproc)" --output=/dev/null --wait --wrap 'sleep 1' > /dev/null
wait_for ended
requeued=0
for task in $(seq $shards); do
    if has_restarted "${array}_$task"; then requeued=$((requeued + 1)); fi
done
[ "$requeued" -ge 2 ] || { echo "only $requeued tasks were requeued"; exit 1; }

for shard in $(seq $shards); do
    code=0
    snuffer hunt --device cpu --jobs 1 --seed $SEED --cases $cases --shard "$shard/$shards" --store "calm/$shard" > /dev/null 2>&1 || code=$?
    [ "$code" -eq 2 ]
done
names() { find "$1" -mindepth 1 -maxdepth 1 -not -name campaigns -printf '%f\n' | sort; }
snuffer merge --into all findings/* | tail -n 1 | tee merged
snuffer merge --into undisturbed calm/* | tail -n 1
diff <(names all) <(names undisturbed)
grep -q ": $cases cases," merged
echo "$requeued of $shards tasks were requeued; every case ran once, and the findings are the same"
