/** The index of grants beside a real vault: a changed line, and a file that is gone. */
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { homeInWorld } from '../../support/home.ts';

const status = z.object({
  index: z.object({ checked: z.number(), differences: z.array(z.object({ grant: z.string() })) }),
});

const line = z.object({ put: z.looseObject({ id: z.string(), generation: z.number() }) });

const listed = z.array(z.object({ id: z.string(), account: z.string(), state: z.string() }));

describe('the index of grants', () => {
  it('the index of grants is mended from the vault, which status and the audit log say, and comes back when it is deleted', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain' });
    await home.ok(['allow', 'cli', resource]);
    await home.ok(['token', resource]);
    const [before] = listed.parse(await home.json('list'));
    await home.ok(['daemon', '--stop']);
    const file = path.join(home.paths.state, 'grants.jsonl');
    const newest = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
    const { put } = line.parse(JSON.parse(newest));
    const forged = {
      ...put,
      account: 'mallory',
      issuer: 'https://evil.example',
      generation: put.generation + 1,
    };
    appendFileSync(file, `${JSON.stringify({ put: forged })}\n`);

    // Lists open no vault.
    expect(listed.parse(await home.json('list'))[0]?.account).toBe('mallory');
    expect(await home.ok(['status'])).not.toContain('index');
    await home.ok(['token', resource]);
    expect(listed.parse(await home.json('list'))).toEqual([before]);
    expect(await home.ok(['status'])).toContain(
      `INDEX      grant ${put.id}: The index named another issuer, account.`,
    );
    expect(await home.ok(['audit', 'tail'])).toContain('mended: issuer account');

    await home.ok(['daemon', '--stop']);
    rmSync(file);
    await home.ok(['token', resource]);
    expect(listed.parse(await home.json('list'))).toEqual([before]);
    const { index } = status.parse(await home.json('status'));
    expect(index).toMatchObject({ checked: 1, differences: [{ grant: put.id }] });
  });
});
