import { describeWhatEndsWhen, expectTrialsOfAll, TABLE } from '../../kit/what-ends-when.js';

describe(TABLE, () => {
  it('has a trial for each row and each column', expectTrialsOfAll);
});

describeWhatEndsWhen(false, [
  'other sign-ins ended',
  'access token revoked',
  'provider linked to an account whose address was proven',
  'provider disconnected',
  'second factor or passkey added',
  'second factor removed by its owner',
  'second factor and passkeys reset by the operator',
  'signed out',
  'account suspended',
  'account deleted',
  'backup restored',
]);
