/** What counts as abuse, and how often it is reported. */
import { expect, test } from 'vitest';

import type { PeerFacts } from '../../../src/ipc/peer/peer.ts';
import { type Abuse, type AbuseReport, AbuseWatch } from '../../../src/ipc/server/abuse-watch.ts';

function peer(pid: number, executable?: string): PeerFacts {
  return { kind: 'verified', uid: 1000, gid: 1000, pid, ...(executable ? { executable } : {}) };
}

function startWatch() {
  const reports: AbuseReport[] = [];
  const clock = { now: 0 };
  const watch = new AbuseWatch(
    () => clock.now,
    (report) => reports.push(report),
  );
  const note = (times: number, who: PeerFacts, what: Abuse = 'handshakes') => {
    for (let i = 0; i < times; i += 1) watch.note(what, who);
  };
  return { reports, clock, note };
}

test('X-10: twenty refusals of one kind within a minute are reported once, and then once a minute with their number', () => {
  const { reports, clock, note } = startWatch();
  note(19, peer(1, '/bin/a'));
  expect(reports).toEqual([]);
  note(1, peer(2, '/bin/a'));
  expect(reports).toEqual([{ what: 'handshakes', peer: peer(2, '/bin/a'), count: 20 }]);
  note(500, peer(3, '/bin/a'));
  note(30, peer(3, '/bin/a'), 'requests');
  clock.now += 59_999;
  note(1, peer(3, '/bin/a'));
  expect(reports).toHaveLength(1);
  clock.now += 1;
  note(1, peer(3, '/bin/a'));
  expect(reports[1]).toMatchObject({ what: 'handshakes', count: 502 });
  // What else it did is kept for its next report.
  clock.now += 60_000;
  note(1, peer(3, '/bin/a'), 'requests');
  expect(reports[2]).toMatchObject({ what: 'requests', count: 31 });
});

test('a few refusals now and then are never reported', () => {
  const { reports, clock, note } = startWatch();
  for (let hour = 0; hour < 100; hour += 1) {
    note(19, peer(1, '/bin/a'));
    clock.now += 3_600_000;
  }
  expect(reports).toEqual([]);
});

test('programs are distinguished by their executable, or else by their process', () => {
  const { reports, note } = startWatch();
  for (const who of [peer(1, '/bin/a'), peer(1, '/bin/b'), peer(1), peer(2)]) note(19, who);
  expect(reports).toEqual([]);
  for (const who of [peer(9, '/bin/a'), peer(9, '/bin/b'), peer(1), peer(2)]) note(1, who);
  expect(reports).toHaveLength(4);
});

test('a clock that is set back does not stop the reports', () => {
  const { reports, clock, note } = startWatch();
  clock.now = 1_000_000_000;
  note(20, peer(1, '/bin/a'));
  clock.now = 0;
  note(20, peer(1, '/bin/a'));
  expect(reports).toHaveLength(2);
});

test('more programs than can be watched push the oldest out, and no other', () => {
  const { reports, note } = startWatch();
  for (let i = 0; i <= 256; i += 1) note(19, peer(i));
  note(1, peer(0));
  expect(reports).toEqual([]);
  note(1, peer(256));
  expect(reports).toHaveLength(1);
});
