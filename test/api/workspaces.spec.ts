import { startService, type TestService } from '../kit/index.js';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe('POST /api/v1/workspaces', () => {
  it('creates a workspace and answers its fields in camelCase', async () => {
    const alice = await service.user('alice');
    const { body } = await alice.post('/api/v1/workspaces').send({ name: '  My notes ' }).expect(201);
    expect(body).toEqual({
      id: expect.any(String),
      userId: alice.id,
      name: 'My notes',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: body.createdAt,
    });
  });
});
