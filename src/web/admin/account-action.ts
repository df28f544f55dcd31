import type { AdminAction } from './admin-door.js';
import type { AdminPage } from './admin-layout.js';

/** What a form on the page of an account does. Returns a page to show, if it is not the account's own. */
export type AccountAction = (userId: string, action: AdminAction) => Promise<AdminPage | undefined>;
