/** The lists that the broker keeps in a home's document. Reads nothing. */
import { listOf } from '../../store/home-document.ts';
import type { HomeDocument } from '../../store/document.ts';
import { unusedList, unusedRules, unusedSchema } from '../../store/unused-items.ts';
import { apiKeyRules, apiKeySchema } from './api-key.ts';
import { signInRules, signInSchema } from './sign-in.ts';
import { appSchema } from './app.ts';
import { exceptionRules, exceptionSchema } from './exception.ts';
import { accessRules, accessSchema } from './pause.ts';
import { permissionRules, permissionSchema } from './permission.ts';
import { proxyRules, proxySchema } from './proxy.ts';
import { registrationRecordSchema, registrationRules } from './registrations.ts';

export type Records = Readonly<ReturnType<typeof recordsOf>>;

export function recordsOf(document: HomeDocument) {
  return {
    /** It has all lists below. */
    document,
    signIns: listOf(document, 'signIns', signInSchema, signInRules),
    registrations: listOf(document, 'registrations', registrationRecordSchema, registrationRules),
    apps: listOf(document, 'apps', appSchema),
    permissions: listOf(document, 'permissions', permissionSchema, permissionRules),
    exceptions: listOf(document, 'exceptions', exceptionSchema, exceptionRules),
    proxies: listOf(document, 'proxies', proxySchema, proxyRules),
    keys: listOf(document, 'keys', apiKeySchema, apiKeyRules),
    access: listOf(document, 'access', accessSchema, accessRules),
    unused: listOf(document, unusedList, unusedSchema, unusedRules),
  };
}
