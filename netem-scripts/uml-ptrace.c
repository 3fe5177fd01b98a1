/* A ptrace(2) for User-Mode Linux 6.1 on processors with more registers than it knows.
 *
 * UML saves and restores a guest process's extended registers (PTRACE_GETREGSET and
 * PTRACE_SETREGSET with NT_X86_XSTATE) in a buffer of fixed size. With AMX the host's record is
 * larger, and the host refuses to write a shorter one: UML stops at its first process. Here a write
 * of a short record becomes a write of the whole one, its end as the host has it; a read of a short
 * record is cut from a whole one. Loaded with LD_PRELOAD by vm.sh.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PEEK_TEXT = 1,
    PEEK_USER = 3,
    GET_REGISTER_SET = 0x4204,
    SET_REGISTER_SET = 0x4205,
    X86_XSTATE = 0x202,
};

/* The record is 11 KiB with AMX. UML has one thread that calls this. */
static char whole[1 << 16] __attribute__((aligned(64)));

static long kernel_ptrace(long request, long pid, void *address, void *data)
{
    return syscall(SYS_ptrace, request, pid, address, data);
}

static long extended_registers(long request, long pid, struct iovec *record)
{
    struct iovec all = {whole, sizeof whole};
    if (kernel_ptrace(GET_REGISTER_SET, pid, (void *)X86_XSTATE, &all) < 0)
        return -1;
    size_t size = record->iov_len < all.iov_len ? record->iov_len : all.iov_len;
    if (request == GET_REGISTER_SET) {
        memcpy(record->iov_base, whole, size);
        record->iov_len = size;
        return 0;
    }
    memcpy(whole, record->iov_base, size);
    return kernel_ptrace(SET_REGISTER_SET, pid, (void *)X86_XSTATE, &all);
}

long ptrace(int request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    long pid = va_arg(arguments, int);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    int is_register_set = request == GET_REGISTER_SET || request == SET_REGISTER_SET;
    if (is_register_set && address == (void *)X86_XSTATE)
        return extended_registers(request, pid, data);
    if (request < PEEK_TEXT || request > PEEK_USER)
        return kernel_ptrace(request, pid, address, data);

    /* The system call stores the word that the C library's function returns. */
    long word;
    long result = kernel_ptrace(request, pid, address, &word);
    if (result < 0)
        return result;
    errno = 0;
    return word;
}
