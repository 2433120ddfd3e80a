#!/bin/sh
# Measures a plan in CI, and compares it with the sessions of the main branch.
#
#   PLAN=nightly.ioplan TARGET=scratch.bin CREATE=1GiB BRANCH=main measure.sh
#
# STORE is kept between pipelines by the CI's cache; OUT gets report.html and, where
# the store has sessions of MAIN, comparison.md and comparison.xml (JUnit). The exit
# code is the gravest: 1 if an expectation failed or something is worse.
set -u
: "${PLAN:?name the plan}" "${BRANCH:?name the branch}"
MAIN=${MAIN:-main} STORE=${STORE:-.ioplan/results.db} OUT=${OUT:-ioplan-report}
ioplan=${IOPLAN:-ioplan}
mkdir -p "$OUT" "$(dirname "$STORE")"
export IOPLAN_STORE="$STORE"

tag=branch=$(printf %s "$BRANCH" | tr -c 'A-Za-z0-9_.=-' _ | cut -c1-50)
main=branch=$(printf %s "$MAIN" | tr -c 'A-Za-z0-9_.=-' _ | cut -c1-50)
# the main branch's sessions before this one, the newest five
earlier=$($ioplan ls --tag "$main" --status ok --limit 5 --format csv 2>/dev/null |
  sed 1d | cut -d, -f1 | paste -sd, -)

$ioplan run "$PLAN" ${TARGET:+--target "$TARGET"} ${CREATE:+--create "$CREATE"} \
  ${BACKEND:+--backend "$BACKEND"} --tag "$tag"
code=$?
[ "$code" -le 1 ] || exit "$code" # nothing was measured
$ioplan report last -o "$OUT/report.html" --force || code=$?

if [ -n "$earlier" ]; then
  # 1 is that something is worse: all formats are written first
  for kind in markdown:md junit:xml; do
    $ioplan compare "$earlier" last --format "${kind%:*}" --force \
      -o "$OUT/comparison.${kind#*:}" || worse=$?
  done
  [ -z "${GITHUB_ACTIONS:-}" ] || $ioplan compare "$earlier" last --format github
  [ "${worse:-0}" -le "$code" ] || code=$worse
fi
exit "$code"
