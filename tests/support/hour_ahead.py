"""A host's clock that is an hour ahead: namespaces have that of the machine."""

import shutil
import subprocess

HOUR_AHEAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long ahead(void) {
  const char *file = getenv("CLOCK_IS_AHEAD");
  return file && access(file, F_OK) == 0 ? 3600 : 0;
}
int clock_gettime(clockid_t id, struct timespec *found) {
  static int (*own)(clockid_t, struct timespec *);
  if (!own) own = dlsym(RTLD_NEXT, "clock_gettime");
  int done = own(id, found);
  if (!done && id == CLOCK_REALTIME) found->tv_sec += ahead();
  return done;
}
int gettimeofday(struct timeval *found, void *zone) {
  struct timespec now;
  int done = clock_gettime(CLOCK_REALTIME, &now);
  found->tv_sec = now.tv_sec, found->tv_usec = now.tv_nsec / 1000;
  return done;
}
time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}
"""
"""Preloaded into all programs of a host."""


def hour_ahead(folder, flag):
    """Of a host's environment: its clock is ahead while the flag, a file, is there."""
    made, source = folder / "ahead.so", folder / "ahead.c"
    source.write_text(HOUR_AHEAD)
    compiler = shutil.which("cc")
    assert compiler, "a clock that jumps needs a C compiler"
    words = [compiler, "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"]
    subprocess.run(words, check=True)
    return {"LD_PRELOAD": str(made), "CLOCK_IS_AHEAD": str(flag)}
