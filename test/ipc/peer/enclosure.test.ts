/** Which unit, container or sandbox holds a process: read strictly from what Linux says. */
import { describe, expect, it } from 'vitest';
import { cgroupIn, containerIn, flatpakIn, snapIn, unitIn } from '../../../src/ipc/peer/enclosure.ts';

const id = '0123456789ab'.repeat(6).slice(0, 64);

describe('the cgroup of a process', () => {
  it('is that of cgroup version 2, or else of systemd’s hierarchy', () => {
    expect(cgroupIn('0::/user.slice/app.scope\n')).toBe('/user.slice/app.scope');
    expect(cgroupIn('9:name=systemd:/a.service\n8:pids:/b\n0::/\n')).toBe('/a.service');
    expect(cgroupIn('8:pids:/b\n')).toBe('/');
    expect(cgroupIn('nonsense')).toBe('/');
  });

  it('names the innermost unit, and nothing that is not a unit', () => {
    const app =
      '/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.example.Notes-42.scope';
    expect(unitIn(app)).toBe('app-gnome-org.example.Notes-42.scope');
    expect(unitIn('/system.slice/cron.service')).toBe('cron.service');
    expect(unitIn('/user.slice')).toBeUndefined();
    expect(unitIn('/a b.service')).toBeUndefined();
    expect(unitIn(`/${'x'.repeat(300)}.service`)).toBeUndefined();
  });

  it.each([
    [`/system.slice/docker-${id}.scope`, id.slice(0, 12)],
    [`/docker/${id}`, id.slice(0, 12)],
    [`/user.slice/user@1000.service/user.slice/libpod-${id}.scope/container`, id.slice(0, 12)],
    [`/kubepods.slice/kubepods-pod1.slice/cri-containerd-${id}.scope`, id.slice(0, 12)],
    ['/lxc.payload.builder/init.scope', 'builder'],
    ['/machine.slice/machine-debian.scope', 'debian'],
    ['/user.slice/docker-abc.scope', undefined],
  ])('the cgroup %s names the container %s', (cgroup, name) => {
    expect(containerIn(cgroup)).toBe(name);
  });
});

it('recognises a snap by the label of its profile', () => {
  expect(snapIn('snap.firefox.firefox (enforce)\n')).toBe('firefox');
  expect(snapIn('snap.notes_beta.app (complain)')).toBe('notes_beta');
  expect(snapIn('unconfined\n')).toBeUndefined();
  expect(snapIn('snap.Evil name.app (enforce)')).toBeUndefined();
});

it('recognises a Flatpak by the description in its root', () => {
  expect(
    flatpakIn('[Application]\nname=org.example.Notes\nruntime=x\n\n[Instance]\nname=org.example.Other\n'),
  ).toBe('org.example.Notes');
  expect(flatpakIn('[Instance]\nname=org.example.Other\n')).toBeUndefined();
  expect(flatpakIn('[Application]\nruntime=x\n[Instance]\nname=org.example.Other\n')).toBeUndefined();
  expect(flatpakIn('[Application]\nname=Notes — the real one\n')).toBeUndefined();
  expect(flatpakIn('')).toBeUndefined();
});
