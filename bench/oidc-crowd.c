/*
 * So many clients of oidc-agent at once, each a process that asks by oidc-agent's own library, with a new connection each time.
 *
 * Arguments: the account, how many clients, how many requests in all. OIDC_SOCK names the agent. Prints the requests a second
 * and the 99th percentile of their times in milliseconds.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef char *(*get_access_token)(const char *account, long least_seconds, const char *scope);

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b) {
  double difference = *(const double *)a - *(const double *)b;
  return (difference > 0) - (difference < 0);
}

int main(int count, char **words) {
  if (count != 4) return 2;
  const char *account = words[1];
  int clients = atoi(words[2]);
  int each = (atoi(words[3]) + clients - 1) / clients;
  int all = clients * each;
  void *library = dlopen("liboidc-agent.so.4", RTLD_NOW);
  get_access_token ask = library ? (get_access_token)dlsym(library, "getAccessToken") : NULL;
  double *times = mmap(NULL, all * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!ask || times == MAP_FAILED) return 1;
  double began = milliseconds();
  for (int client = 0; client < clients; client += 1) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) continue;
    for (int n = 0; n < each; n += 1) {
      double from = milliseconds();
      if (!ask(account, 60, NULL)) _exit(1);
      times[client * each + n] = milliseconds() - from;
    }
    _exit(0);
  }
  int failed = 0;
  for (int status; wait(&status) > 0;) failed |= status;
  double took = milliseconds() - began;
  if (failed) return 1;
  qsort(times, all, sizeof *times, by_size);
  printf("%f %f\n", all * 1e3 / took, times[(int)(all * 0.99)]);
  return 0;
}
