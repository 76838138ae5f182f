#!/bin/bash
#SBATCH --job-name=study
#SBATCH --array=1-4
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@300
#SBATCH --requeue
shards=4  # as many as the array has tasks
folder="study.$SLURM_ARRAY_TASK_ID-of-$shards"
local="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/$folder-$SLURM_JOB_ID"

# The journal is written on a disk of the node. What an earlier start of this task left is copied there first.
mkdir -p "$local" runs
[ -d "runs/$folder" ] && cp -a "runs/$folder" "$local/"

trap 'kill -TERM $!' TERM  # five minutes before the time is over: calls under way end and are kept
ostrom run study.yaml --name study --shard "$SLURM_ARRAY_TASK_ID/$shards" --runs "$local" &
wait $! || wait $!
code=$?

# Copied whole, then put in its place: a copy that breaks off leaves the one before.
rm -rf "runs/.$folder"
cp -a "$local/$folder" "runs/.$folder" && rm -rf "runs/$folder" && mv "runs/.$folder" "runs/$folder" && rm -rf "$local"
exit $code
