export const STATUSES = ['processing', 'shipped', 'delivered', 'returned', 'cancelled'] as const;
export type OrderStatus = (typeof STATUSES)[number];

export interface OrderLine {
  sku: string;
  quantity: number;
  unitCents: number;
  /** How many of them came back. */
  returned: number;
}

/** An order as the shop's system exports it. Days are `YYYY-MM-DD`, money is cents of a euro. */
export interface Order {
  id: string;
  placed: string;
  status: OrderStatus;
  name: string;
  email: string;
  city: string;
  country: string;
  carrier: string;
  tracking: string;
  /** Empty before that day, as `delivered` is. */
  shipped: string;
  promised: string;
  delivered: string;
  shippingCents: number;
  /** What the customer's card was charged: twice the total by mistake, nothing where it was cancelled early. */
  chargedCents: number;
  /** What was paid back before this export. */
  refundedCents: number;
  lines: OrderLine[];
}

const TEXTS = ['placed', 'name', 'email', 'city', 'country'] as const;
const SHIPMENT = ['carrier', 'tracking', 'shipped', 'promised', 'delivered'] as const;
const MONEY = ['shippingCents', 'chargedCents', 'refundedCents'] as const;
const LINE = ['sku', 'quantity', 'unitCents', 'returned'] as const;
const COLUMNS = ['id', 'status', ...TEXTS, ...SHIPMENT, ...MONEY, ...LINE];

/** Rows of a CSV file whose values have no commas, by the names in its first row. */
export function readRows(csv: string): Record<string, string>[] {
  const [header = '', ...rows] = csv.trim().split(/\r?\n/);
  const names = header.split(',');
  return rows.map((row) => {
    const values = row.split(',');
    return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
  });
}

/**
 * Orders of a file with one row for each line of an order; what belongs to the whole order stands in its first row.
 *
 * @throws Error naming the row that belongs to no order, or has no number where one is due.
 */
export function readOrders(csv: string): Order[] {
  const orders = new Map<string, Order>();
  for (const [index, row] of readRows(csv).entries()) {
    const text = (name: string) => row[name] ?? '';
    const number = (name: string) => {
      const value = text(name);
      if (/^\d+$/.test(value)) return Number(value);
      throw new Error(`orders, row ${index + 2}: ${name} is ${JSON.stringify(value)}, not a whole number`);
    };
    const id = text('id');
    const status = STATUSES.find((known) => known === text('status'));
    if (status !== undefined) {
      const texts = [...TEXTS, ...SHIPMENT].map((name) => [name, text(name)] as const);
      const money = MONEY.map((name) => [name, number(name)] as const);
      orders.set(id, { id, status, ...fields(texts), ...fields(money), lines: [] });
    }
    const order = orders.get(id);
    if (order === undefined)
      throw new Error(`orders, row ${index + 2}: ${id} has no row with a status before`);
    order.lines.push({
      sku: text('sku'),
      quantity: number('quantity'),
      unitCents: number('unitCents'),
      returned: number('returned'),
    });
  }
  return [...orders.values()];
}

export function writeOrders(orders: readonly Order[]): string {
  const rows = orders.flatMap((order) =>
    order.lines.map((line, index) => {
      const values: Partial<Record<string, unknown>> =
        index === 0 ? { ...order, ...line } : { id: order.id, ...line };
      return COLUMNS.map((name) => String(values[name] ?? ''));
    }),
  );
  const awkward = rows.flat().find((value) => /[",\n]/.test(value));
  if (awkward !== undefined)
    throw new Error(`${JSON.stringify(awkward)} can't stand in a file without quotes`);
  return `${[COLUMNS, ...rows].map((row) => row.join(',')).join('\n')}\n`;
}

function fields<K extends string, V>(entries: readonly (readonly [K, V])[]): Record<K, V> {
  return Object.fromEntries(entries) as Record<K, V>;
}
