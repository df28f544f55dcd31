import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startService, type TestService } from '../../kit/index.js';
import { type FakeProvider, startProvider } from '../../kit/payment-provider.js';
import { itDeep } from '../../kit/rounds.js';

const CHECKOUT = '/api/v1/subscription/checkout-url';
const KEY = 'sk_test_key_of_the_provider';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let provider: FakeProvider;
let service: TestService;
beforeAll(async () => {
  provider = await startProvider();
  const env = { STRIPE_SECRET_KEY: KEY, STRIPE_API_BASE: provider.url, STRIPE_PRICE_ID: 'p' };
  service = await startService({ env });
});
afterAll(async () => {
  await service.close();
  await provider.close();
});

describe('a provider that does not answer', () => {
  itDeep('leads to 503, whether it is silent or trickles bytes', async () => {
    const [alice, bob] = [await service.newcomer('silent'), await service.newcomer('dripping')];
    provider.answer = ({ form }, response) => {
      if (form.email === alice.email) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      const dripping = setInterval(() => response.write(' '), 200);
      // Before Node.js 24, garbage collection removes the timeout of a fetch with `redirect: 'error'`.
      setTimeout(collectGarbage, 400);
      response.once('close', () => clearInterval(dripping));
    };
    const answers = await Promise.all([alice.post(CHECKOUT), bob.post(CHECKOUT)]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect(provider.customers).toEqual([]);
  });

  it('leads to 503 when nothing listens at its address', async () => {
    const away = await startProvider();
    await away.close();
    const env = { STRIPE_SECRET_KEY: KEY, STRIPE_API_BASE: away.url, STRIPE_PRICE_ID: 'p' };
    const lonely = await startService({ beside: service, env });
    await (await service.newcomer('away')).at(lonely.url).post(CHECKOUT).expect(503);
    await lonely.close();
  });
});
