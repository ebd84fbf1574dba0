"""Runs a command under the limits of a unit file, as systemd would: as-unit.py UNIT COMMAND...

Applies NoNewPrivileges, SystemCallFilter (through libseccomp, with the sets that systemd-analyze prints),
RestrictAddressFamilies, UMask and LimitCORE. A setting that it doesn't know is an error, unless it limits nothing here.
"""
import ctypes
import errno
import os
import resource
import socket
import subprocess
import sys

unit, command = sys.argv[1], sys.argv[2:]
# What these forbid goes beyond system calls of the list, or doesn't matter here.
other = {'Type', 'ExecStart', 'Environment', 'Restart', 'RestartSec', 'RestartPreventExitStatus', 'TimeoutStopSec', 'UnsetEnvironment',
         'RestrictRealtime', 'RestrictSUIDSGID', 'RestrictNamespaces', 'LockPersonality', 'SystemCallArchitectures',
         'SystemCallErrorNumber'}
settings = {}
part = None
for line in map(str.strip, open(unit)):
    if line.startswith('['):
        part = line
    elif part == '[Service]' and '=' in line and not line.startswith('#'):
        name, value = line.split('=', 1)
        settings[name] = value

sets = {}
listed = subprocess.run(['systemd-analyze', 'syscall-filter'], capture_output=True, text=True, check=True).stdout
for line in listed.splitlines():
    if line.startswith('@'):
        current = sets.setdefault(line.strip(), [])
    elif line.startswith('    ') and not line.strip().startswith('#'):
        current.append(line.strip())


def calls(name):
    if not name.startswith('@'):
        return {name}
    return set().union(*(calls(one) for one in sets[name]))


class Compare(ctypes.Structure):
    _fields_ = [('arg', ctypes.c_uint), ('op', ctypes.c_int), ('a', ctypes.c_uint64), ('b', ctypes.c_uint64)]


library = ctypes.CDLL('libseccomp.so.2')
library.seccomp_init.restype = ctypes.c_void_p
ALLOW, EQUAL = 0x7FFF0000, 4
# systemd allows @default always; and execve, which starts the command.
context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(0x00050000 | errno.EPERM)))
families = [getattr(socket, name) for name in settings.pop('RestrictAddressFamilies').split()]
for name in calls(settings.pop('SystemCallFilter')) | calls('@default') | {'execve'}:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number == -1:
        continue
    if name == 'socket':
        for family in families:
            rule = Compare(0, EQUAL, int(family), 0)
            library.seccomp_rule_add_array(context, ctypes.c_uint32(ALLOW), number, 1, ctypes.byref(rule))
    else:
        library.seccomp_rule_add_array(context, ctypes.c_uint32(ALLOW), number, 0, None)

os.umask(int(settings.pop('UMask'), 8))
core = int(settings.pop('LimitCORE'))
resource.setrlimit(resource.RLIMIT_CORE, (core, core))
assert settings.pop('NoNewPrivileges') == 'yes'
unknown = set(settings) - other
assert not unknown, unknown
assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0
assert library.seccomp_load(context) == 0
os.execvp(command[0], command)
