#!/bin/bash
# A plan on a drive of a node: sbatch slurm.sh. Slurm queues it and gives it the node; results go
# to the lab's database as the role `host_slurm`, which `ioplan lab init --host slurm` makes, with
# its password in ~/.pgpass. A run is written to the node's store first, so none waits for a network.
#SBATCH --job-name=ioplan
#SBATCH --exclusive
#SBATCH --constraint=nvme
#SBATCH --time=08:00:00
#SBATCH --signal=INT@300
#SBATCH --requeue
set -u
PLAN=${PLAN:-nightly.ioplan}
TARGET=${TARGET:-gen5-1}                  # of the node's lab file
RESULTS=${RESULTS:-postgresql://host_slurm@lab.example/ioplan}
export IOPLAN_STORE=${IOPLAN_STORE:-$PWD/ioplan-$SLURM_JOB_ID.db}

if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
  set -- resume last                      # the node went down, or the time was over
else
  set -- run "$PLAN" --target "$TARGET" --tag "slurm=$SLURM_JOB_ID" "$@"
fi
srun ioplan "$@"
code=$?
ioplan push --to "$RESULTS"
exit $code
