import { OperatorError } from '../../platform/config/index.js';

/**
 * The arguments of a process are visible to every user of the machine.
 * @param option the name of the option that has the URL
 * @param cure how to pass a password instead, without a full stop
 * @throws OperatorError
 */
export function refusePasswordIn(url: string, option: string, cure: string): void {
  if (/^[^?]*:\/\/[^/?@]*:[^/?]*@|[?&]password=/i.test(url))
    throw new OperatorError(`A password in ${option} is visible to every user; ${cure}.`);
}
