/* The floor in C: reads lines on a Unix socket, and answers each with a line of the same length as a token's answer. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 1024, READ_SIZE = 4096 };

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  size_t size = strtoul(argv[2], NULL, 10);
  char *answer = malloc(size + 128);
  size_t length = (size_t)sprintf(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"access_token\":\"");
  memset(answer + length, 'x', size);
  length += size;
  memcpy(answer + length, "\"}}\n", 4);
  length += 4;

  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 512)) return 1;
  struct pollfd ends[MAX_CONNECTIONS] = {{.fd = listener, .events = POLLIN}};
  nfds_t count = 1;
  char text[READ_SIZE];
  puts("ready");
  fflush(stdout);
  while (poll(ends, count, -1) > 0) {
    for (nfds_t n = count; n-- > 1;) {
      if (!ends[n].revents) continue;
      ssize_t got = read(ends[n].fd, text, sizeof text);
      for (ssize_t at = 0; at < got; at++)
        if (text[at] == '\n' && write(ends[n].fd, answer, length) < 0) got = 0;
      if (got > 0) continue;
      close(ends[n].fd);
      ends[n] = ends[--count];
    }
    if (ends[0].revents && count < MAX_CONNECTIONS)
      ends[count++] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
  }
  return 0;
}
