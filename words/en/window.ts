/**
 * Every word of the windows, in English. One file for each room of the windows; the
 * cards of commands have their own.
 *
 * ICU messages (messages.ts). An apostrophe is ’, since ' quotes there.
 */
import { activity } from './activity.ts';
import { cards } from './cards.ts';
import { commands } from './commands.ts';
import { common } from './common.ts';
import { apps } from './apps.ts';
import { providers } from './providers.ts';
import { requests } from './requests.ts';
import { servers } from './servers.ts';
import { settings } from './settings.ts';
import { views } from './views.ts';
import { welcome } from './welcome.ts';

export const window = {
  ...common,
  ...views,
  ...servers,
  ...apps,
  ...activity,
  ...settings,
  ...providers,
  ...cards,
  ...requests,
  ...commands,
  ...welcome,
} as const;
