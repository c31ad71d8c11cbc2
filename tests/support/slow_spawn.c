// Lets the call that starts a process return late: the process runs before its parent knows about it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <time.h>

typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);

static int late(const char *name, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    spawn *real = (spawn *)dlsym(RTLD_NEXT, name);
    int result = real(pid, file, actions, attributes, arguments, environment);
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 700000000};
    nanosleep(&pause, NULL);
    return result;
}

int posix_spawn(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                char *const arguments[], char *const environment[]) {
    return late("posix_spawn", pid, file, actions, attributes, arguments, environment);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const arguments[], char *const environment[]) {
    return late("posix_spawnp", pid, file, actions, attributes, arguments, environment);
}
