/** The lists that the broker keeps in a home's document. Reads nothing. */
import { listOf } from '../../store/home-document.ts';
import type { HomeDocument } from '../../store/document.ts';
import type { RecordList } from '../../store/home-document.ts';
import { unusedList, unusedRules, unusedSchema } from '../../store/unused-items.ts';
import type { UnusedItem } from '../../store/unused-items.ts';
import { apiKeyRules, apiKeySchema } from './api-key.ts';
import type { ApiKey } from './api-key.ts';
import { signInRules, signInSchema } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';
import { appSchema } from './app.ts';
import type { App } from './app.ts';
import { exceptionRules, exceptionSchema } from './exception.ts';
import type { ExceptionRecord } from './exception.ts';
import { accessRules, accessSchema } from './pause.ts';
import type { AccessRecord } from './pause.ts';
import { permissionRules, permissionSchema } from './permission.ts';
import type { Permission } from './permission.ts';
import { proxyRules, proxySchema } from './proxy.ts';
import type { ProxyRecord } from './proxy.ts';
import { registrationRecordSchema, registrationRules } from './registrations.ts';
import type { RegistrationRecord } from './registrations.ts';

export interface Records {
  /** It has all lists below. */
  readonly document: HomeDocument;
  readonly signIns: RecordList<SignIn>;
  readonly registrations: RecordList<RegistrationRecord>;
  readonly apps: RecordList<App>;
  readonly permissions: RecordList<Permission>;
  readonly exceptions: RecordList<ExceptionRecord>;
  readonly proxies: RecordList<ProxyRecord>;
  readonly keys: RecordList<ApiKey>;
  readonly access: RecordList<AccessRecord>;
  readonly unused: RecordList<UnusedItem>;
}

export function recordsOf(document: HomeDocument): Records {
  return {
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
