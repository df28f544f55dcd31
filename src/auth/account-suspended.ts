import { Forbidden } from '../platform/http/index.js';

/** The operator has suspended the account: it may do nothing until it is resumed. Nothing of it is lost. */
export class AccountSuspended extends Forbidden {
  constructor() {
    super('the account is suspended');
  }
}
