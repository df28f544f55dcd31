import { PASSKEYS, SINGLE_SIGN_ON } from '../../kit/tour/page-list.js';
import { usePasskeys } from '../../kit/tour/passkeys.js';
import { signInThroughProvider } from '../../kit/tour/single-sign-on.js';
import { Stage } from '../../kit/tour/stage.js';
import { describeTours } from '../../kit/tour/tours.js';

describeTours((stage) => {
  it('of a user with passkeys', async () => {
    const walk = await stage().walk();
    await usePasskeys(stage(), walk);
    expect([...walk.seen].sort()).toEqual(Object.keys(PASSKEYS).sort());
  });

  it('through single sign-on', async () => {
    const closed = await Stage.start({ hasSingleSignOn: true });
    const walk = await closed.walk();
    await signInThroughProvider(closed, walk);
    await closed.close();
    expect([...walk.seen].sort()).toEqual(Object.keys(SINGLE_SIGN_ON).sort());
  });
});
