#!/bin/sh
# A part of a matrix for each task of a Slurm array, and the whole when all have ended:
#
#   job=$(sbatch --parsable --array=1-8 slurm-array.sh bbr-paper)
#   sbatch --dependency="afterok:$job" slurm-array.sh bbr-paper merge
#
# To run task 3 of 8 again by itself: SHARDS=8 sbatch --array=3 slurm-array.sh bbr-paper
#SBATCH --job-name=paceline-matrix
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
set -eu

matrix=$1
# On a file system that all nodes see.
folder=${FOLDER:-$PWD/$(basename "$matrix" .toml)-cells}

if [ "${2:-}" = merge ]; then
    exec bench-client matrix merge "$folder" --json "$folder.json" --csv "$folder.csv"
fi
if [ -n "${SHARDS:-}" ]; then
    set -- --shard "$SLURM_ARRAY_TASK_ID/$SHARDS"
else
    set --
fi
exec bench-client matrix "$matrix" --virtual --dir "$folder" --jobs "${SLURM_CPUS_PER_TASK:-1}" "$@"
