#!/usr/bin/env python3
"""Runs a matrix in parts on a Ray cluster, and merges them.

    pip install ray
    python ray_matrix.py bbr-paper --parts 8 --dir DIR --json bbr-paper.json

DIR is seen by all nodes. Ray runs a part again when its worker or its node dies; the part then finds the cells
that were finished. What stands behind `--` goes to `bench-client matrix`: `-- --rounds 10`.
"""

import argparse
import ctypes
import signal
import subprocess
import sys

import ray


def end_with_parent():
    """Linux: bench-client ends with the worker that started it, so that a part runs once at a time."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


@ray.remote(max_retries=8)
def run_part(command):
    """One part, from the cells that are missing to the last; what it printed."""
    ended = subprocess.run(command, capture_output=True, text=True, preexec_fn=end_with_parent)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {ended.stderr}")
    return ended.stderr + ended.stdout


def arguments():
    parser = argparse.ArgumentParser(description="Runs a matrix in parts on a Ray cluster, and merges them.")
    parser.add_argument("matrix", help="a name that `bench-client list` knows, or a TOML file that all nodes see")
    parser.add_argument("--parts", type=int, required=True, help="in how many parts")
    parser.add_argument("--dir", required=True, help="the folder of cells, seen by all nodes")
    parser.add_argument("--json", required=True, help="where the result goes")
    parser.add_argument("--cpus", type=int, default=1, help="processors of each part")
    parser.add_argument("--address", help="of a running cluster; without it one is started here")
    parser.add_argument("--local-cpus", type=int, help="processors of the cluster that is started here")
    parser.add_argument("--program", default="bench-client")
    parser.add_argument("more", nargs="*", help="further words for `bench-client matrix`")
    return parser.parse_args()


def main():
    args = arguments()
    if args.address:
        ray.init(address=args.address)
    else:
        ray.init(num_cpus=args.local_cpus, include_dashboard=False)
    parts = []
    for part in range(1, args.parts + 1):
        command = [args.program, "matrix", args.matrix, "--virtual", "--dir", args.dir, "--jobs", str(args.cpus)]
        command += ["--shard", f"{part}/{args.parts}", *args.more]
        parts.append(run_part.options(num_cpus=args.cpus).remote(command))
    while parts:
        ended, parts = ray.wait(parts)
        print(ray.get(ended[0]), end="", flush=True)
    merged = subprocess.run([args.program, "matrix", "merge", args.dir, "--json", args.json])
    sys.exit(merged.returncode)


if __name__ == "__main__":
    main()
