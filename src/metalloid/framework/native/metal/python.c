// Python in the process: the one that runs the program, or libpython, loaded when the first device is made.
#include "bridge.h"
#include "config.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN struct mt_bridge mt_bridge;

static struct {
    int (*initialized)(void);
    void (*initialize)(int);
    void (*name)(const wchar_t *);
    int (*run)(const char *);
    void *(*save)(void);
    void (*restore)(void *);
    int (*ensure)(void);
    void (*give)(int);
    int (*held)(void);
} python;

static char failure[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static _Thread_local int attached;
static _Thread_local int token;

static int find(void *library) {
    *(void **)&python.initialized = dlsym(library, "Py_IsInitialized");
    *(void **)&python.initialize = dlsym(library, "Py_InitializeEx");
    *(void **)&python.name = dlsym(library, "Py_SetProgramName");
    *(void **)&python.run = dlsym(library, "PyRun_SimpleString");
    *(void **)&python.save = dlsym(library, "PyEval_SaveThread");
    *(void **)&python.restore = dlsym(library, "PyEval_RestoreThread");
    *(void **)&python.ensure = dlsym(library, "PyGILState_Ensure");
    *(void **)&python.give = dlsym(library, "PyGILState_Release");
    *(void **)&python.held = dlsym(library, "PyGILState_Check");
    return python.initialized && python.initialize && python.run && python.save && python.restore && python.ensure &&
           python.give && python.held;
}

static int load(void) {
    if (find(RTLD_DEFAULT))
        return 1;
    void *library = dlopen(MT_PYTHON_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (library && find(library))
        return 1;
    const char *why = library ? "it lacks functions" : dlerror();
    snprintf(failure, sizeof failure,
             "metalloid: the interpreter cannot be loaded (%s: %s). The framework compiles kernels with the Python that"
             " metalloid is installed in, as a shared library: use one that was built with --enable-shared.",
             MT_PYTHON_LIBRARY, why);
    return 0;
}

HIDDEN int mt_python_enters(void) {
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    return sigismember(&before, SIGPIPE);
}

HIDDEN void mt_python_leaves(int was_blocked) {
    if (was_blocked)
        return;
    sigset_t pipe;
    struct timespec now = {0};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, 0, &now) > 0)
        ;
    pthread_sigmask(SIG_UNBLOCK, &pipe, 0);
}

static void attach(void) {
    char script[8192];
    snprintf(script, sizeof script,
             "import sys\n"
             "sys.path[:] = sys.path + [p for p in %s if p not in sys.path]\n"
             "from metalloid.framework.bridge import attach\n"
             "attach(%llu)\n",
             MT_PYTHON_PATH, (unsigned long long)(uintptr_t)&mt_bridge);
    if (python.run(script) || mt_bridge.version != BRIDGE_VERSION)
        snprintf(failure, sizeof failure,
                 "metalloid: the framework of this program does not fit the metalloid that is installed (%s); build it"
                 " again with `metalloid cc`",
                 MT_PYTHON_EXECUTABLE);
}

static const char *start(void) {
    if (!python.initialized()) {
        pthread_mutex_lock(&lock);
        if (!python.initialized()) {
            static wchar_t name[1024];
            mbstowcs(name, MT_PYTHON_EXECUTABLE, 1023);
            if (python.name)
                python.name(name);
            python.initialize(0);
            attach();
            python.save();
            __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    int had = python.ensure();  // first the interpreter's lock, then ours: Python never asks for ours
    pthread_mutex_lock(&lock);
    if (!ready) {
        attach();
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    python.give(had);
    return *failure ? failure : 0;
}

HIDDEN const char *mt_python_ready(void) {
    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        return *failure ? failure : 0;
    if (!load())
        return failure;
    int blocked = mt_python_enters();
    const char *why = start();
    mt_python_leaves(blocked);
    return why;
}

HIDDEN void mt_python_thread_begins(void) {
    mt_python_enters();  // for as long as the thread lives
    if (!attached && python.ensure) {
        token = python.ensure();
        python.save();
        attached = 1;
    }
}

HIDDEN void mt_python_thread_ends(void) {
    attached = 0;  // the interpreter may be gone already when the process ends: its thread state stays with it
}

HIDDEN void *mt_wait_begins(void) { return python.held && python.initialized() && python.held() ? python.save() : 0; }

HIDDEN void mt_wait_ends(void *state) {
    if (state)
        python.restore(state);
}
