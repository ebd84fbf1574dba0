/** Every word of the windows in English: ICU messages (messages.ts). An apostrophe is ’, since ' quotes there. */
import { activity } from './activity.ts';
import { cards } from './cards.ts';
import { common } from './common.ts';
import { apps } from './apps.ts';
import { requests } from './requests.ts';
import { servers } from './servers.ts';
import { settings } from './settings.ts';
import { welcome } from './welcome.ts';

export const window = {
  ...common,
  ...servers,
  ...apps,
  ...activity,
  ...settings,
  ...cards,
  ...requests,
  ...welcome,
} as const;
