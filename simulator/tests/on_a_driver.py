#!/usr/bin/env python3
"""Runs the kernels of tests/fail and tests/pass on the CUDA driver of this machine, each in a process of its own.

Prints for each kernel what the driver returns, and for tests/pass the words that it writes. The simulated driver and a GPU can be
compared so, line by line:

    LD_LIBRARY_PATH=target/simulator/lib python3 simulator/tests/on_a_driver.py > simulated.txt
    python3 simulator/tests/on_a_driver.py > gpu.txt && diff simulated.txt gpu.txt
"""

import ctypes
import json
import os
import re
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parent
# Seconds until a kernel counts as one that does not end. The simulated driver proves that instead.
PATIENCE = 5
# The bytes that a kernel of tests/pass may write, and what they are before.
ROOM, BEFORE = 1 << 16, 0xEE
# CU_JIT_OPTIMIZATION_LEVEL. Without optimization, a load whose value nothing uses stays.
OPTIMIZATION_LEVEL = 7


class Driver:
    """The functions of libcuda.so.1. A code other than 0 ends the process, but for those that are asked for."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code:
            sys.exit(f"{name} {code}")

    def open(self):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def function(self, text, name):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        options, values = (ctypes.c_int * 1)(OPTIMIZATION_LEVEL), (ctypes.c_void_p * 1)(0)
        self.call("cuModuleLoadDataEx", ctypes.byref(module), text + b"\0", 1, options, values)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def allocate(self, size, byte=None):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        if byte is not None:
            self.call("cuMemcpyHtoD_v2", address, bytes([byte]) * size, ctypes.c_size_t(size))
        return address

    def read(self, address, size):
        buffer = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", buffer, address, ctypes.c_size_t(size))
        return buffer.raw


def run(folder, file, kernel, grid, block, shared):
    """Runs one kernel and prints what the driver says, in this process."""
    text = (TESTS / folder / file).read_bytes()
    driver = Driver()
    driver.open()
    function = driver.function(text, kernel)
    if folder == "fail":
        freed = driver.allocate(64, 1)
        pointers = [driver.allocate(256, 1), freed, driver.allocate(64)]
        driver.call("cuMemFree_v2", freed)
    else:
        pointers = [driver.allocate(ROOM, BEFORE)]
    declared = re.search(rb"\.entry\s+" + kernel.encode() + rb"\s*\(([^)]*)\)", text).group(1).count(b".param")
    params = (ctypes.c_void_p * declared)(*[ctypes.addressof(pointer) for pointer in pointers[:declared]])
    driver.call("cuLaunchKernel", function, *grid, *block, shared, None, params, None)
    driver.call("cuCtxSynchronize")
    words = b""
    if folder == "pass":
        words = driver.read(pointers[0], ROOM).rstrip(bytes([BEFORE]))
        words += bytes([BEFORE]) * (-len(words) % 4)
    print("ended", *[f"{word:x}" for (word,) in struct.iter_unpack("<I", words)], flush=True)
    # What a fault leaves behind is not torn down.
    os._exit(0)


def jobs():
    """Every kernel, with the launch that the tests in tests/it give it."""
    for path in sorted((TESTS / "fail").glob("*.ptx")):
        for kernel in ("k", "twin"):
            yield "fail", path.name, kernel, (2, 1, 1), (64, 1, 1), 128
    passes = (TESTS / "it/passes.rs").read_text()
    shapes = {name: ((1, 1, 1), (int(threads), 1, 1), 0) for name, threads in re.findall(r'pass\(\s*"([^"]+)",\s*(\d+)', passes)}
    shapes["specials.ptx"] = (2, 3, 2), (5, 3, 4), 0
    shapes["specials_of_the_launch.ptx"] = (2, 1, 1), (1, 1, 1), 256
    shapes["shared.ptx"] = (2, 1, 1), (64, 1, 1), 256
    for path in sorted((TESTS / "pass").glob("*.ptx")):
        yield "pass", path.name, "k", *shapes[path.name]


def outcome(job):
    """What a process says that runs the job."""
    command = [sys.executable, __file__, json.dumps(job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    # A kernel's own printing, and the diagnosis of the simulated driver, come first.
    return ((done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or ["said nothing"])[-1]


def main():
    if len(sys.argv) > 1:
        return run(*json.loads(sys.argv[1]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, said in zip(jobs(), pool.map(outcome, jobs())):
            print(*job[:3], said)


main()
