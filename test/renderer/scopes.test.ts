/** How risky a scope looks on a card, by the names that real servers use. */
import { expect, it } from 'vitest';
import { byRisk, riskOf } from '../../renderer/base/scopes.ts';

it.each([
  ['notes:read', undefined],
  ['https://www.googleapis.com/auth/calendar.readonly', undefined],
  ['updates.read', undefined],
  ['write', 'changes'],
  ['read_write', 'changes'],
  ['https://graph.microsoft.com/Mail.Send', 'changes'],
  ['notes.part3:delete', 'deletes'],
  ['delete_repo', 'deletes'],
  ['manage:jira-project', 'controls'],
])('the scope %s looks like it %s', (name, risk) => {
  expect(riskOf(name)).toBe(risk);
});

it('what lets an app do most comes first, and what says nothing last', () => {
  expect(byRisk(['openid', 'notes:read', 'repo', 'Mail.Send', 'delete:issue:jira'])).toEqual([
    'delete:issue:jira',
    'Mail.Send',
    'repo',
    'notes:read',
    'openid',
  ]);
});
