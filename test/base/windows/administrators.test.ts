/** Whether only administrators can change a file on Windows, by rights as Windows writes them. */
import { expect, it } from 'vitest';
import { changeableBy } from '../../../src/base/windows/administrators.ts';

const administrators = 'S-1-5-32-544';
const installer = 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464';
const somebody = 'S-1-5-21-1-2-3-1001';

it.each([
  [
    'the drive',
    installer,
    'D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)',
  ],
  [
    'the folder of all users’ data',
    'S-1-5-18',
    'D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;GA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;DCLCRPCR;;;BU)',
  ],
] as const)(
  'nobody but administrators can replace what lies in %s, as Windows sets it up',
  (_what, owner, rights) => {
    expect(changeableBy(owner, rights, 'folder')).toBeUndefined();
    expect(changeableBy(owner, rights, 'file')).toBe(
      rights.includes(';;;AU)(A;;LC') ? 'AU can change it' : 'BU can change it',
    );
  },
);

it('a file that an administrator makes in the folder of all users’ data is the administrators’', () => {
  const made = 'D:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1200a9;;;BU)';
  expect(changeableBy(administrators, made, 'file')).toBeUndefined();
  expect(changeableBy(administrators, `${made}(D;;FA;;;BG)(A;;FR;;;WD)(A;;FA;;;OW)`, 'file')).toBeUndefined();
});

it.each([
  ['belongs to a user', somebody, 'D:(A;;FA;;;BA)', `it belongs to ${somebody}`],
  ['has no owner that Windows tells', undefined, 'D:(A;;FA;;;BA)', 'does not tell'],
  ['has no rights that Windows tells', administrators, undefined, 'does not tell'],
  ['has no list of rights', administrators, 'D:NO_ACCESS_CONTROL', 'not understood'],
  ['is another’s to change', administrators, `D:(A;;FA;;;${somebody})`, `${somebody} can change it`],
  ['is everybody’s to write', administrators, 'D:(A;;FRFW;;;WD)', 'WD can change it'],
  ['is everybody’s to delete', administrators, 'D:(A;;FRSD;;;WD)', 'WD can change it'],
  ['has rights that everybody may change', administrators, 'D:(A;;0x1600a9;;;WD)', 'WD can change it'],
  ['may be taken by everybody', administrators, 'D:(A;;FRWO;;;WD)', 'WD can change it'],
  ['has an unknown right', administrators, 'D:(A;;ZZ;;;WD)', 'WD can change it'],
  ['has half a right', administrators, 'D:(A;;FRF;;;WD)', 'WD can change it'],
  ['has a conditional entry', administrators, 'D:(XA;;FR;;;WD)', 'WD can change it'],
  ['has an entry for one object', administrators, 'D:(OA;;FR;;;WD)', 'WD can change it'],
  ['has brackets within an entry', administrators, 'D:(XA;;FA;;;WD;(x))', 'not understood'],
])('a file that %s is not the administrators’ alone', (_how, owner, rights, why) => {
  expect(changeableBy(owner, rights, 'file')).toContain(why);
});

it('a folder from which others may remove a file is not the administrators’ alone', () => {
  for (const right of ['DT', 'SD', 'WD', 'WO', 'GA', 'GW', 'FA'])
    expect(changeableBy(administrators, `D:(A;;${right};;;BU)`, 'folder'), right).toBe('BU can change it');
});
