"""Starts a command as systemd starts a service with a socket unit: the socket is descriptor 3, and waits already.

passing-socket.py HOW PATH COMMAND...   HOW: passed, twice, replaced (another socket lies at the path), plain (a pipe)
Every other command than `broker run` gets nothing.
"""
import os
import socket
import sys

how, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]


def listening(at):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o177)
    made.bind(at + '.new')
    os.umask(0o077)
    made.listen(128)
    # At once with its queue: a test connects as soon as it sees the file.
    os.rename(at + '.new', at)
    return made


if command[-2:] == ['broker', 'run']:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    passed = os.pipe()[0] if how == 'plain' else listening(path).detach()
    if how == 'replaced':
        os.rename(path, path + '.moved')
        os.set_inheritable(os.dup2(listening(path).detach(), 9), True)
    os.dup2(passed, 3)
    os.set_inheritable(3, True)
    os.environ['LISTEN_PID'] = str(os.getpid())
    os.environ['LISTEN_FDS'] = '2' if how == 'twice' else '1'
os.execvp(command[0], command)
