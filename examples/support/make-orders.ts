// Writes orders.csv: node examples/support/make-orders.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COUNTRIES, type Country, DOMAINS } from './made-up-people.ts';
import { type Order, type OrderLine, readRows, writeOrders } from './order-file.ts';
import { Random } from './random.ts';

const SEED = 20_260_630;
const ORDERS = 3_000;
const CUSTOMERS = 900;
const FIRST_DAY = dayOf('2025-07-01');
const LAST_DAY = dayOf('2026-06-30');
const SALE = { from: dayOf('2025-11-21'), to: dayOf('2025-11-30'), percent: 20 };
const REFUND_AFTER_DAYS = 6;
const COMES_BACK: ReadonlySet<Fate> = new Set(['returned', 'returnedLately', 'partlyReturned']);
/** Busy in summer and before Christmas; from January. */
const DEMAND_OF_MONTHS = [5, 5, 7, 9, 12, 14, 13, 11, 8, 6, 11, 12];

interface Product {
  sku: string;
  cents: number;
  demand: number;
}

interface Customer {
  name: string;
  email: string;
  city: string;
  country: Country;
}

type Fate = 'kept' | 'cancelled' | 'lost' | 'chargedTwice' | 'partlyReturned' | 'returned' | 'returnedLately';

/** What is settled of an order before chance goes on with it. */
interface Draft {
  day: number;
  customer: Customer;
  lines: OrderLine[];
  shippingCents: number;
  fate?: Fate;
}

const products: Product[] = readRows(readFileSync(join(import.meta.dirname, 'products.csv'), 'utf8')).map(
  ({ sku = '', cents, demand }) => ({ sku, cents: Number(cents), demand: Number(demand) }),
);

/** The orders of the file, the same ones whenever it is called. */
export function makeOrders(): Order[] {
  const random = new Random(SEED);
  const planted = plantedDrafts();
  const taken = new Set(planted.map(({ customer }) => customer.email));
  const customers = Array.from({ length: CUSTOMERS - taken.size }, () => makeCustomer(random, taken));
  const drafts = Array.from({ length: ORDERS - planted.length }, () => makeDraft(random, customers));
  return [...drafts, ...planted]
    .sort((one, other) => one.day - other.day)
    .map((draft, index) => fulfil(random, draft, `FH-${10_001 + index}`));
}

function makeCustomer(random: Random, taken: Set<string>): Customer {
  const country = random.weighted(COUNTRIES, ({ share }) => share);
  const first = random.pick(country.firstNames);
  const last = random.pick(country.lastNames);
  const local = `${first}.${last}`.toLowerCase().replaceAll('ø', 'o').normalize('NFD').replace(/\p{M}/gu, '');
  const domain = random.pick(DOMAINS);
  let email = `${local}@${domain}`;
  for (let number = 2; taken.has(email); number++) email = `${local}${number}@${domain}`;
  taken.add(email);
  return { name: `${first} ${last}`, email, city: random.pick(country.cities), country };
}

function makeDraft(random: Random, customers: readonly Customer[]): Draft {
  const days = Array.from({ length: LAST_DAY - FIRST_DAY + 1 }, (_, index) => FIRST_DAY + index);
  const day = random.weighted(days, (candidate) => DEMAND_OF_MONTHS[monthOf(candidate)] ?? 0);
  // Some customers come back often: the lower the index, the more.
  const customer = customers[Math.floor(customers.length * random.next() ** 1.5)];
  if (customer === undefined) throw new Error('there are no customers');
  const count = random.weighted([1, 2, 3, 4], (lines) => [0, 50, 28, 14, 8][lines] ?? 0);
  const skus = new Set(
    Array.from({ length: count }, () => random.weighted(products, ({ demand }) => demand).sku),
  );
  const lines = [...skus].map((sku) => {
    const isSmall = priceOf(sku, day) < 3_000;
    return lineOf(sku, day, isSmall ? random.weighted([1, 2, 3, 6], (n) => 7 - n) : 1);
  });
  const goodsCents = sumOf(lines, ({ quantity, unitCents }) => quantity * unitCents);
  const express = random.chance(0.07) ? 900 : 0;
  const shippingCents = (goodsCents >= 15_000 ? 0 : customer.country.shippingCents) + express;
  return { day, customer, lines, shippingCents };
}

/** Lets the order run its course up to the last day of the file. */
function fulfil(random: Random, draft: Draft, id: string): Order {
  const { day, customer, lines, shippingCents } = draft;
  const { country } = customer;
  const totalCents = sumOf(lines, ({ quantity, unitCents }) => quantity * unitCents) + shippingCents;
  const fate = draft.fate ?? fateOf(random);
  const shipped = day + random.whole(0, 2);
  const promised = day + 2 + country.days;
  const onTheWay = random.chance(0.06) ? country.days + random.whole(4, 11) : random.whole(2, country.days);
  const delivered = fate === 'lost' ? LAST_DAY + 1 : shipped + onTheWay;
  const sentBack = fate === 'returnedLately' ? LAST_DAY - 2 : delivered + random.whole(7, 24);
  const carrier = random.pick(country.carriers);
  const tracking = trackingOf(random, carrier);
  const order: Order = {
    id,
    placed: textOf(day),
    status: 'processing',
    name: customer.name,
    email: customer.email,
    city: customer.city,
    country: country.code,
    ...{ carrier: '', tracking: '', shipped: '', promised: textOf(promised), delivered: '' },
    shippingCents,
    chargedCents: totalCents * (fate === 'chargedTwice' ? 2 : 1),
    refundedCents: 0,
    lines,
  };
  if (fate === 'cancelled') {
    const wasCharged = random.chance(0.5);
    const chargedCents = wasCharged ? totalCents : 0;
    return { ...order, status: 'cancelled', chargedCents, refundedCents: chargedCents };
  }
  if (shipped > LAST_DAY) return order;
  Object.assign(order, { status: 'shipped', carrier, tracking, shipped: textOf(shipped) });
  if (delivered > LAST_DAY) return order;
  Object.assign(order, { status: 'delivered', delivered: textOf(delivered) });
  if (sentBack > LAST_DAY || !COMES_BACK.has(fate)) return order;
  if (fate === 'partlyReturned' && sumOf(lines, ({ quantity }) => quantity) > 1) {
    random.pick(lines).returned = 1;
  } else {
    for (const line of lines) line.returned = line.quantity;
    order.status = 'returned';
  }
  const isRefunded = sentBack + REFUND_AFTER_DAYS <= LAST_DAY;
  if (isRefunded) order.refundedCents = sumOf(lines, ({ returned, unitCents }) => returned * unitCents);
  return order;
}

function fateOf(random: Random): Fate {
  const chances = { kept: 865, cancelled: 35, returned: 50, partlyReturned: 45, chargedTwice: 5 };
  return random.weighted(Object.keys(chances) as (keyof typeof chances)[], (fate) => chances[fate]);
}

/** The cases that the README and the tests speak of. */
function plantedDrafts(): Draft[] {
  const [ragnhild, klemens, camille, jelle] = [
    person('Ragnhild Solbakken', 'NO', 'Bergen'),
    person('Klemens Kofler', 'AT', 'Innsbruck'),
    person('Camille Morvan', 'FR', 'Annecy'),
    person('Jelle Terpstra', 'NL', 'Zwolle'),
  ];
  const draft = (
    date: string,
    customer: Customer,
    fate: Fate,
    goods: Record<string, number>,
    shippingCents = 0,
  ): Draft => {
    const day = dayOf(date);
    const lines = Object.entries(goods).map(([sku, quantity]) => lineOf(sku, day, quantity));
    return { day, customer, fate, lines, shippingCents };
  };
  return [
    draft('2026-05-18', ragnhild, 'kept', { 'TN2-MO': 1, 'TNF-2P': 1, 'GAS-23': 2 }),
    draft('2026-05-20', ragnhild, 'kept', { 'TN2-OC': 1, 'TNF-2P': 1 }, 900),
    draft('2026-06-11', ragnhild, 'lost', { 'SBD-P2': 1, 'LIN-SK': 1 }),
    draft('2026-06-02', klemens, 'chargedTwice', { 'BTM-43': 1, 'SCK-ME': 3 }),
    draft('2026-05-04', camille, 'partlyReturned', { 'JKW-SR': 1, 'FLC-GN': 2, 'HAT-ME': 1 }),
    draft('2026-06-08', jelle, 'returnedLately', { 'PK5-BK': 1 }),
  ];
}

function person(name: string, code: string, city: string): Customer {
  const country = COUNTRIES.find((candidate) => candidate.code === code);
  if (country === undefined) throw new Error(`no country has the code ${code}`);
  return { name, email: `${name.toLowerCase().replace(' ', '.')}@example.com`, city, country };
}

function lineOf(sku: string, day: number, quantity: number): OrderLine {
  return { sku, quantity, unitCents: priceOf(sku, day), returned: 0 };
}

function priceOf(sku: string, day: number): number {
  const product = products.find((candidate) => candidate.sku === sku);
  if (product === undefined) throw new Error(`there is no product ${sku}`);
  const isSale = day >= SALE.from && day <= SALE.to;
  return isSale ? Math.round((product.cents * (100 - SALE.percent)) / 1_000) * 10 : product.cents;
}

function trackingOf(random: Random, carrier: string): string {
  const shapes: Record<string, () => string> = {
    DHL: () => `JJD00039${random.digits(8)}`,
    DPD: () => `0144${random.digits(10)}`,
    PostNL: () => `3SFH${random.digits(9)}`,
    PostNord: () => `0037${random.digits(12)}`,
    Colissimo: () => `6A${random.digits(11)}`,
    UPS: () => `1Z8F42${random.digits(12)}`,
    GLS: () => random.digits(11),
    'Austrian Post': () => `1042${random.digits(12)}`,
  };
  const shape = shapes[carrier];
  if (shape === undefined) throw new Error(`${carrier} has no shape of tracking numbers`);
  return shape();
}

function dayOf(date: string): number {
  return Date.parse(date) / 86_400_000;
}

function textOf(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

function monthOf(day: number): number {
  return new Date(day * 86_400_000).getUTCMonth();
}

function sumOf<T>(list: readonly T[], read: (item: T) => number): number {
  return list.reduce((sum, item) => sum + read(item), 0);
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(import.meta.dirname, 'orders.csv'), writeOrders(makeOrders()));
}
