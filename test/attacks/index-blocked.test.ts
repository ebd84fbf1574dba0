/**
 * Another program of the same user keeps the broker from writing the index of grants, so that a revocation can't
 * be kept there.
 */
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import { reasonOf } from '../../src/base/errors.ts';
import { refusal } from '../broker/rig.ts';
import { ground } from '../rules/ground.ts';

describe('an index of grants that the broker can no longer write', () => {
  it.each([
    ['was touched', (index: string) => appendFileSync(index, '\n')],
    [
      'was moved away, and a folder put in its place',
      (index: string) => {
        renameSync(index, `${index}.old`);
        mkdirSync(index);
      },
    ],
  ])(
    'grants.jsonl: an index of grants that the broker can no longer write (it %s) keeps no revoked grant alive, once it is as it was before',
    async (_how, block) => {
      const { rig, restarted, authorizationServer } = await ground();
      await rig.login();
      await rig.ask();
      const index = path.join(rig.folder, 'grants.jsonl');
      const before = readFileSync(index);
      block(index);
      expect(reasonOf(await refusal(revokeGrant(rig.parts, rig.grant())))).toBe('file_unreadable');
      expect(await refusal(rig.ask())).toBeDefined();
      rmSync(index, { recursive: true });
      writeFileSync(index, before, { mode: 0o600 });
      const after = await restarted();
      expect(reasonOf(await refusal(after.ask()))).toBe('login_required');
      expect((await revokeGrant(after.parts, after.grant())).receipt).toBe('confirmed');
      expect(authorizationServer.server.asked('/revoke', 'POST')).not.toEqual([]);
    },
  );
});
