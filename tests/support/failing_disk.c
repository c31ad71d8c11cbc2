// Lets system calls on files fail, as they do on a failing disk.
//
// The variable FAILING names a file. While it exists, its line "NUMBER CALLS PART" lets calls fail with the error of that number: those
// whose letter is in CALLS (o: open for writing, r: read, w: write and sync), on files whose path contains PART.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int error_on(char call, const char *path) {
    const char *control = getenv("FAILING");
    if (control == NULL) return 0;
    int before = errno, number = 0;
    char line[256] = "", calls[8] = "", part[128] = "";
    int file = (int)syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC, 0);
    if (file >= 0) {
        long count = syscall(SYS_read, file, line, sizeof line - 1);
        syscall(SYS_close, file);
        int found = count > 0 ? sscanf(line, "%d %7s %127s", &number, calls, part) : 0;
        if (found != 3 || strchr(calls, call) == NULL || strstr(path, part) == NULL) number = 0;
    }
    errno = before;
    return number;
}

static int fails_on(char call, const char *path) {
    int number = error_on(call, path);
    if (number != 0) errno = number;
    return number != 0;
}

static int fails(char call, int file) {
    char link[64], path[4096];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return fails_on(call, path);
}

static int open_file(int folder, const char *path, int flags, mode_t mode) {
    if ((flags & O_ACCMODE) != O_RDONLY && fails_on('o', path)) return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { MODE(flags) return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_file(AT_FDCWD, path, flags, mode); }

ssize_t read(int file, void *bytes, size_t count) {
    return fails('r', file) ? -1 : syscall(SYS_read, file, bytes, count);
}

ssize_t write(int file, const void *bytes, size_t count) {
    return fails('w', file) ? -1 : syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return fails('w', file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    return fails('w', file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, at);
}

int fsync(int file) { return fails('w', file) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return fails('w', file) ? -1 : (int)syscall(SYS_fdatasync, file); }
