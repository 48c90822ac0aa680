#!/usr/bin/env bash
# What has to hold on a machine with an NVIDIA GPU, in one command of at most ten minutes, without a network: kernels,
# training that gives the same bits again, recording, a planted fault, replay, compute-sanitizer; then speed, beside
# PyTorch's where it is. Prints a report in Markdown.
#
#   gpu_check.sh [--backend cuda|emulated] [--build DIR] [-o REPORT.md]
#
#   --backend emulated  the same steps without a GPU, few iterations of each; what needs a GPU is skipped
#   --build DIR         what is checked: a build's folder (default: the bundle in which this lies, else build/dev)
#   -o REPORT.md        where the report goes too (gpu-report.md)
#
# Status: 0 nothing failed, 1 something did, 2 wrong usage, 77 there is no GPU. ./dev gpu-bundle packs it with what it
# needs; CUDA's libraries (cuBLASLt, cuDNN) are the machine's.
set -uo pipefail

here=$(dirname "$(readlink -f "$0")")
backend=cuda
report=gpu-report.md
build=$(readlink -f "$here/../..") # in the bundle
peers=$build/peers
if [[ ! -x $build/bin/msdbg ]]; then
    peers=$(readlink -f "$build/../shared/peers")
    build=$build/build/dev
fi
while (($#)); do
    case $1 in
        -h | --help) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/!p}' "$0"; exit ;;
        --backend) backend=${2-} ;;
        --build) build=$(readlink -f "${2-}") ;;
        -o) report=${2-} ;;
        *) echo "gpu_check: unknown option '$1' (see --help)" >&2; exit 2 ;;
    esac
    shift $(($# > 1 ? 2 : 1))
done
[[ $backend == cuda || $backend == emulated ]] || { echo "gpu_check: --backend cuda or emulated" >&2; exit 2; }
if [[ $backend == cuda && ! -e /dev/nvidiactl ]] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "skipped: there is no NVIDIA GPU here (--backend emulated runs the same steps on the CPU)"
    exit 77
fi
msdbg=$build/bin/msdbg
module=$build/lib/msdbg/libmsdbg_cuda.so
[[ -x $msdbg ]] || { echo "gpu_check: there is no $msdbg (./dev build dev)" >&2; exit 2; }
work=$(mktemp -d -t msdbg_gpu.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT

# -- where CUDA's libraries are

cuda_folders() { # those that hold a library which msdbg or cuDNN opens
    local place
    {
        tr ':' '\n' <<<"${MSDBG_CUDA_PATH-}:${LD_LIBRARY_PATH-}"
        printf '%s\n' /usr/local/cuda*/lib64 "${XDG_CACHE_HOME:-${HOME-}/.cache}"/msdbg/cuda-*/lib64
        python3 -c 'import glob, nvidia
for root in nvidia.__path__: print("\n".join(sorted(glob.glob(root + "/*/lib"))))' 2>/dev/null
        printf '%s\n' /opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib
    } | while read -r place; do
        compgen -G "$place/lib@(cublasLt|cudnn|nvrtc).so*" >/dev/null && readlink -f "$place"
    done | awk '!seen[$0]++' | paste -sd:
}

shopt -s extglob
MSDBG_CUDA_PATH=$(cuda_folders)
export MSDBG_CUDA_PATH
# The bundle's libraries, and CUDA's for what cuDNN opens itself.
libraries=$build/lib${MSDBG_CUDA_PATH:+:$MSDBG_CUDA_PATH}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ours() { LD_LIBRARY_PATH=$libraries "$@"; } # a program of msdbg; the machine's have their own libraries

sanitizer=$(command -v compute-sanitizer || compgen -G '/usr/local/cuda*/bin/compute-sanitizer' ||
    compgen -G '/opt/nvidia/*/*/compute-sanitizer' || compgen -G '/usr/local/cuda*/compute-sanitizer/compute-sanitizer')
sanitizer=${sanitizer%%$'\n'*}

# -- the steps: each prints a line last, which the report shows, and ends with 0, 77 (skipped) or another status

skipped() { echo "$*"; exit 77; }
failed() { echo "$*"; exit 1; }
with_gpu() { [[ $backend == cuda ]] || skipped "needs a GPU"; }

# Top-level number of a JSON document that msdbg has written.
number() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$2"; }

train() { # NAME MODEL ITERATIONS [options]: into NAME.msdbg, what is said of it into NAME.json
    ours "$msdbg" dump "$2" --backend "$backend" --steps "$3" --force -o "$folder/$1.msdbg" --json "${@:4}" \
        >"$folder/$1.json" || failed "msdbg dump ${*:2} ended with $?"
}

hashes() { # NAME: of every tensor in every iteration, in the order of training
    ours "$msdbg" stats "$folder/$1.msdbg" --tensor '*' --json >"$folder/stats.json" || failed "msdbg stats failed"
    awk -F '"' '/^ *"tensor"/ {tensor = $4}
        /^ *"(iteration|rank)"/ {at[$2] = substr($3, 3) + 0}
        /^ *"hash": "/ {print at["iteration"], at["rank"], tensor, $4}' "$folder/stats.json" |
        sort -sn >"$folder/$1.txt"
}

test_program() { # NAME [arguments]
    local status=0
    with_gpu
    [[ -x $build/tests/$1 ]] || skipped "$1 was not built"
    ours "$build/tests/$1" "${@:2}" || status=$?
    ((status != 77)) || failed "it has not seen the GPU that is here: $(tail -n 1 "$folder/step.log")"
    exit "$status"
}

twice() { # MODEL ITERATIONS [options]
    local name count
    for name in first second; do
        train "$name" "$1" "$2" --policy stats "${@:3}"
        hashes "$name"
    done
    count=$(wc -l <"$folder/first.txt")
    ((count >= 10 * $2)) || failed "only $count hashes"
    if ! diff "$folder/first.txt" "$folder/second.txt" >"$folder/differences.txt"; then
        grep '^<' "$folder/differences.txt" | head -n 20
        failed "$(grep -c '^<' "$folder/differences.txt") of $count hashes differ (above: iteration, rank, tensor)"
    fi
    echo "$2 iterations, $count hashes equal, last loss $(number loss "$folder/first.json")"
}

observed() { # MODEL ITERATIONS: recording changes no bit of the loss
    local policy loss row="| $1 | $2 |"
    for policy in none stats record full; do
        train "$policy" "$1" "$2" --policy "$policy"
        loss=$(number loss "$folder/$policy.json")
        [[ -n $loss && $loss == "$(number loss "$folder/none.json")" ]] ||
            failed "last loss with --policy $policy: '$loss', with none: '$(number loss "$folder/none.json")'"
        row+=" $(number seconds "$folder/$policy.json" | cut -c1-6) |"
    done
    echo "$row" >>"$work/recording.md"
    echo "last loss $loss with policies none, stats, record, full"
}

fault() { # MODEL NODE
    local status=0 found
    train fault "$1" 6 --fault "nan@iteration=3,node=$2"
    ours "$msdbg" check "$folder/fault.msdbg" --first --json >"$folder/found.json" || status=$?
    found=$(sed -n '/^  "first": {/,/^  }/s/^    "\(node\|iteration\)": "\{0,1\}\([^",]*\).*/\2/p' \
        "$folder/found.json" | paste -sd' ')
    [[ $status == 3 && $found == "3 $2" ]] || failed "msdbg check ended with $status and found '$found'"
    echo "$2 named in iteration 3"
}

replayed() { # MODEL ITERATIONS
    train record "$1" "$2" --policy record
    ours "$msdbg" replay "$folder/record.msdbg" --prove
}

two_ranks() {
    [[ $(mpirun --version 2>/dev/null) == *"(Open MPI) 4.1"* ]] || skipped "there is no mpirun of Open MPI 4.1"
    twice "$1" "$2" -n 2 --threads 1
}

sanitized() { # TOOL [options]: short trainings in one process each
    with_gpu
    [[ -n $sanitizer ]] || skipped "there is no compute-sanitizer"
    local model options status log=$folder/sanitizer.log
    while read -r model options; do
        status=0
        # shellcheck disable=SC2086 # several words
        ours "$sanitizer" --tool "$@" --error-exitcode 9 "$msdbg" bench "$model" --backend cuda --steps 2 $options \
            >"$log" 2>&1 || status=$?
        grep -qi 'device not supported' "$log" && skipped "compute-sanitizer does not support this device"
        if ((status)) || ! grep -q 'SUMMARY: 0 ' "$log"; then
            grep '=========' "$log" | head -n 30
            failed "$model: compute-sanitizer ended with $status: $(tail -n 1 "$log")"
        fi
    done <<'MODELS'
lenet5 --batch 8
resnet20 --batch 4
gpt --batch 2 --layers 1 --width 64 --heads 2 --context 32
MODELS
    echo "nothing found in lenet5, resnet20 and gpt"
}

bench() { # MODEL STEPS
    local median least theirs=none row
    ours "$msdbg" bench "$1" --backend "$backend" --steps "$2" --json >"$folder/bench.json" ||
        failed "msdbg bench failed"
    median=$(number median_ms "$folder/bench.json") least=$(number min_ms "$folder/bench.json")
    if [[ $backend == cuda ]]; then
        theirs=$(python3 "$here/torch_step.py" "$peers" "$1" "$2")
    fi
    row="| $1 | $median | $least |"
    if [[ $theirs =~ ^[0-9] ]]; then
        row+=$(awk -v mine="$median" '{printf " %s | %s | %.2f |", $1, $2, mine / $1
            printf " %s | %s | %.2f |", $3, $4, mine / $3}' <<<"$theirs")
    else
        row+=" ${theirs:-failed} | | | | | |"
    fi
    echo "$row" >>"$work/speed.md"
    theirs=${theirs:-failed}
    echo "$median ms a step; PyTorch: ${theirs%% *}"
}

# -- the report

deadline=$((SECONDS + 570))
failures=0 checks=0 folder=
say() { printf '%s\n' "$*" | tee -a "$report"; }

check() { # WHAT LIMIT STEP [arguments]: a row; what a failed step has printed comes after the table
    local what=$1 limit=$2 begin=$EPOCHREALTIME status=0 seconds result note
    shift 2
    ((limit > deadline - SECONDS)) && limit=$((deadline - SECONDS))
    if ((limit < 5)); then
        say "| $what | skipped | 0 | no time is left |"
        return
    fi
    folder=$work/$((++checks)) # its own: what was ended may still write for a moment
    mkdir "$folder"
    timeout -k 5 "$limit" bash -uo pipefail -c '"$@"' step "$@" >"$folder/step.log" 2>&1 </dev/null || status=$?
    seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}')
    note=$(grep -v '^[[:space:]]*$' "$folder/step.log" | tail -n 1 | tr '|' '/' | cut -c1-200)
    case $status in
        0) result=passed ;;
        77) result=skipped ;;
        *) result=FAILED failures=$((failures + 1)) ;;
    esac
    [[ $status == 124 || $status == 137 ]] && note="took longer than $limit s${note:+; $note}"
    say "| $what | $result | $seconds | $note |"
    if [[ $result == FAILED ]]; then
        printf '\n### %s (status %s)\n\n' "$what" "$status"
        tail -n 40 "$folder/step.log" | sed 's/^/    /'
    fi >>"$work/failed.md"
    rm -rf "$folder" 2>/dev/null
}

export here backend build peers msdbg module work folder libraries sanitizer
export -f ours skipped failed with_gpu number train hashes test_program twice observed fault replayed
export -f two_ranks sanitized bench

versions() {
    echo "- date: $(date -u '+%F %T') UTC, backend $backend, $(nproc) cores"
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | sed 's/^/- GPU: /'
    ours "$msdbg" --version | head -n 1 | sed 's/^/- /'
    echo "- MSDBG_CUDA_PATH=$MSDBG_CUDA_PATH"
    [[ $backend == cuda ]] || return
    ours timeout 60 "$build/tests/msdbg_cuda_check" "$module" 2>&1 | grep -m 1 -E ', sm_|^skipped|^cannot' |
        sed 's/^/- opened: /'
    timeout 60 python3 -c 'import torch
print("- PyTorch", torch.__version__, "with cuDNN", torch.backends.cudnn.version())' 2>/dev/null
}

: >"$report" || exit 2
say "# msdbg on a GPU"
say ""
say "$(versions)"
say ""
say "| check | result | seconds | |"
say "|---|---|---|---|"
nodes=(network/conv2/Conv-op1 grad/network/fc1/Gemm-op1)
check "device, products, convolutions (msdbg_cuda_check)" 60 test_program msdbg_cuda_check "$module" fault
check "kernels and training (test_gpu)" 150 test_program test_gpu
if [[ $backend == cuda ]]; then
    for model in mlp lenet5 alexnet resnet20 gpt; do check "$model twice" 90 twice "$model" 50; done
    check "alexnet observed and not" 60 observed alexnet 20
    for node in "${nodes[@]}"; do check "fault at $node" 30 fault lenet5 "$node"; done
    for model in lenet5 resnet20 gpt; do check "replay of $model" 60 replayed "$model" 10; done
    check "2 ranks on one device" 60 two_ranks lenet5 10
    for model in mlp lenet5 alexnet resnet20 gpt; do check "speed of $model" 60 bench "$model" 50; done
else
    check "mlp twice" 60 twice mlp 10
    check "lenet5 twice" 60 twice lenet5 5
    check "alexnet twice" 60 twice alexnet 2
    check "resnet20 twice" 90 twice resnet20 2
    check "gpt twice" 90 twice gpt 1 --batch 2
    check "lenet5 observed and not" 60 observed lenet5 4
    for node in "${nodes[@]}"; do check "fault at $node" 30 fault lenet5 "$node"; done
    check "replay of lenet5" 60 replayed lenet5 4
    check "2 ranks on one device" 60 two_ranks lenet5 2
    for model in mlp lenet5; do check "speed of $model" 60 bench "$model" 3; done
fi
check "compute-sanitizer memcheck" 120 sanitized memcheck
check "compute-sanitizer racecheck, kernels of ours" 120 sanitized racecheck --kernel-name kernel_substring=msdbg

if [[ -s $work/speed.md ]]; then
    say ""
    say "| ms of a step | median | least | PyTorch, float32 | least | ratio | PyTorch, TF32 | least | ratio |"
    say "|---|---|---|---|---|---|---|---|---|"
    say "$(cat "$work/speed.md")"
fi
if [[ -s $work/recording.md ]]; then
    say ""
    say "| seconds of a run | iterations | not recorded | stats | record | full |"
    say "|---|---|---|---|---|---|"
    say "$(cat "$work/recording.md")"
fi
if ((failures)); then
    say ""
    say "## Failed"
    say "$(cat "$work/failed.md")"
fi
say ""
say "$failures failed, $SECONDS s in all"
((failures == 0))
