/*
 * So many clients of oidc-agent at once, each a process that asks once by oidc-agent's own library.
 *
 * Arguments: the account, how many clients. OIDC_SOCK names the agent. Prints the milliseconds until all have a token.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef char *(*get_access_token)(const char *account, long least_seconds, const char *scope);

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  void *library = dlopen("liboidc-agent.so.4", RTLD_NOW);
  get_access_token ask = library ? (get_access_token)dlsym(library, "getAccessToken") : NULL;
  int start[2];
  if (!ask || pipe(start)) return 1;
  for (int left = atoi(words[2]); left > 0; left -= 1) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) continue;
    char end;
    close(start[1]);
    // Until the parent closes its end.
    read(start[0], &end, 1);
    _exit(ask(words[1], 1, NULL) ? 0 : 1);
  }
  double from = milliseconds();
  close(start[1]);
  int failed = 0;
  for (int status; wait(&status) > 0;) failed |= status;
  printf("%f\n", milliseconds() - from);
  return failed ? 1 : 0;
}
