import { describeWhatEndsWhen } from '../../kit/what-ends-when.js';

describeWhatEndsWhen(true, [
  'password changed by its owner',
  'password reset by a link',
  'password reset by the operator',
  'address confirmed, with the password of the account',
  'first proof of the address without that password: "start anew", a reset, the provider',
  'email address changed',
]);
