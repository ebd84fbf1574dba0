/**
 * What a process runs in: a systemd unit, a container, a Flatpak or a Snap, as far as Linux tells.
 *
 * Invariant: this is read strictly and only shown. Any program of the user can have a unit, or a sandbox of its own,
 * under any name, so these names are never attested.
 */
import { beginningOf, identityOf, procText } from './proc.ts';

export interface Enclosure {
  readonly kind: 'flatpak' | 'snap' | 'container' | 'unit';
  readonly name: string;
}

export function enclosuresOf(pid: number): Enclosure[] {
  const cgroup = cgroupIn(procText(pid, 'cgroup') ?? '');
  const names = {
    flatpak: flatpakOf(pid),
    snap: snapIn(procText(pid, 'attr/apparmor/current') ?? procText(pid, 'attr/current') ?? ''),
    container: containerIn(cgroup),
    unit: unitIn(cgroup),
  };
  return (['flatpak', 'snap', 'container', 'unit'] as const).flatMap((kind) => {
    const name = names[kind];
    return name === undefined ? [] : [{ kind, name }];
  });
}

/** The path in the one hierarchy of version 2, else in systemd's own (cgroups(7)). */
export function cgroupIn(text: string): string {
  const lines = text.split('\n').map((line) => /^(\d+):([^:]*):(\/.*)$/.exec(line));
  const unified = lines.find((line) => line?.[1] === '0' && line[2] === '' && line[3] !== '/');
  return (unified ?? lines.find((line) => line?.[2] === 'name=systemd'))?.[3] ?? '/';
}

/** The innermost service or scope (systemd.unit(5): at most 255 characters of these). */
export function unitIn(cgroup: string): string | undefined {
  return cgroup.split('/').findLast((part) => /^[\w:.\\@-]{1,248}\.(?:service|scope)$/.test(part));
}

/** Docker, Podman, CRI-O, containerd by the 12 digits that their commands show; LXC and nspawn by name. */
export function containerIn(cgroup: string): string | undefined {
  const parts = cgroup.split('/');
  const id = parts.findLast((part) =>
    /^(?:(?:docker|libpod|crio|cri-containerd|nerdctl)-)?[0-9a-f]{64}(?:\.scope)?$/.test(part),
  );
  if (id !== undefined) return /[0-9a-f]{12}/.exec(id.replace(/^[a-z-]+-/, ''))?.[0];
  const named = parts.map((part) =>
    /^(?:lxc\.payload\.([\w.-]{1,64})|machine-([\w.-]{1,64})\.scope)$/.exec(part),
  );
  const found = named.find((match) => match !== null);
  return found?.[1] ?? found?.[2];
}

/** The label of snapd's profiles: `snap.NAME.APP (enforce)`. */
export function snapIn(label: string): string | undefined {
  return /^snap\.([a-z0-9-]{1,40}(?:_[a-z0-9]{1,10})?)\.[\w.-]{1,80} \((?:enforce|complain|mixed|kill)\)\s*$/.exec(
    label,
  )?.[1];
}

/** Flatpak puts a description into each sandbox's root. A process that shares our root is in none. */
function flatpakOf(pid: number): string | undefined {
  const root = `/proc/${pid}/root`;
  const itsRoot = identityOf(`${root}/`);
  if (itsRoot === undefined || itsRoot === identityOf('/')) return undefined;
  return flatpakIn(beginningOf(`${root}/.flatpak-info`) ?? '');
}

/** `name` in the group `Application` (flatpak-metadata(5)). */
export function flatpakIn(info: string): string | undefined {
  const [, group = ''] = /^\[Application\]\n((?:[^[\n][^\n]*\n|\n)*)/m.exec(info) ?? [];
  return /^name=([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*){2,})$/m.exec(group)?.[1]?.slice(0, 255);
}
