/** The file of `keyturn export`: opened by its passphrase only, and only as it was written. */
import { describe, expect, it } from 'vitest';
import { openParcel, sealParcel } from '../../../src/daemon/moving/sealed-parcel.ts';
import { refusal } from '../../broker/rig.ts';

/** The least that a header may name: a guess takes some milliseconds. */
const cost = { N: 2 ** 14, r: 8, p: 1 };
const parcel = {
  id: 'a'.repeat(32),
  registrations: [],
  grants: [],
  settings: { logLevel: 'debug' },
};

const sealed = sealParcel(parcel, 'aPassphrase-1234', cost);

describe('an export', () => {
  it('an export opens with its passphrase, in either form of its letters, and shows nothing without it', async () => {
    const text = await sealed;
    expect(text).toMatch(/^keyturn-export\/1 \{"cost":\{"N":16384,"r":8,"p":1\},[^ ]+ [\w-]+\n$/);
    expect(text).not.toContain('logLevel');
    expect(await openParcel(text, 'aPassphrase-1234')).toEqual(parcel);
    const composed = await sealParcel(parcel, 'caf\u00e9', cost);
    expect(await openParcel(composed, 'cafe\u0301')).toEqual(parcel);
    expect(await sealParcel(parcel, 'aPassphrase-1234', cost)).not.toBe(text);
  });

  it('an export refuses another passphrase, and every change of header or content', async () => {
    const text = await sealed;
    expect(await refusal(openParcel(text, 'anotherPassphrase'))).toMatchObject({ reason: 'locked' });
    const salt = /"salt":"(.)/.exec(text)?.[1] === 'A' ? 'B' : 'A';
    const changes = [
      text.replace(/"salt":"./, `"salt":"${salt}`),
      text.replace('"r":8', '"r":9'),
      // The same cost in other bytes.
      text.replace('16384', '16384.0'),
      `${text.trimEnd().slice(0, -1)}${text.trimEnd().endsWith('A') ? 'Q' : 'A'}`,
      text.slice(0, -10),
    ];
    for (const changed of changes) {
      expect(await refusal(openParcel(changed, 'aPassphrase-1234'))).toMatchObject({ reason: 'locked' });
    }
  });

  it('an export refuses what is no export, another version, a cut file and costs that would stop the broker, and runs no scrypt', async () => {
    const text = await sealed;
    const broken = [
      'hello',
      text.replace('export/1', 'export/2'),
      text.replace('16384', '1073741824'),
      text.replace('16384', '1024'),
      text.replace('{"cost"', '{"more":1,"cost"'),
      text.slice(0, text.lastIndexOf(' ') + 5),
      `${text.trimEnd()} more`,
    ];
    for (const one of broken) {
      expect(await refusal(openParcel(one, 'aPassphrase-1234'))).toMatchObject({ reason: 'file_unreadable' });
    }
  });

  it('an export that is larger than the socket carries is refused', async () => {
    const large = { ...parcel, settings: { logLevel: 'x'.repeat(800_000) } };
    expect(await refusal(sealParcel(large, 'aPassphrase-1234', cost))).toMatchObject({
      reason: 'invalid_request',
    });
  });
});
